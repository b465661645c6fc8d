CREATE TABLE detection (
    detector VARCHAR(64) NOT NULL,
    content VARCHAR(64) NOT NULL,
    json JSON NOT NULL,
    PRIMARY KEY (detector, content)
)
 WITHOUT ROWID
;
CREATE TABLE event (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at VARCHAR(32) NOT NULL,
    actor TEXT NOT NULL,
    what VARCHAR(32) NOT NULL,
    json JSON
)
;
CREATE TABLE measure (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind VARCHAR(16) NOT NULL,
    spec TEXT NOT NULL,
    version INTEGER NOT NULL,
    direction VARCHAR(8) NOT NULL,
    identity VARCHAR(64) NOT NULL,
    UNIQUE (identity)
)
;
CREATE TABLE round (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    mode TEXT NOT NULL,
    questions JSON NOT NULL,
    settings JSON NOT NULL,
    seed BIGINT NOT NULL,
    state VARCHAR(16) NOT NULL,
    at VARCHAR(32) NOT NULL,
    UNIQUE (name)
)
;
CREATE TABLE setting (
    name VARCHAR(64) NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name)
)
;
CREATE TABLE settings (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    sha256 VARCHAR(64) NOT NULL,
    json JSON NOT NULL,
    UNIQUE (sha256)
)
;
CREATE TABLE source (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    importer TEXT NOT NULL,
    path TEXT NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    at VARCHAR(32) NOT NULL,
    counts JSON,
    UNIQUE (importer, sha256)
)
;
CREATE TABLE vector (
    encoder VARCHAR(64) NOT NULL,
    content VARCHAR(64) NOT NULL,
    shard INTEGER NOT NULL,
    "row" INTEGER NOT NULL,
    PRIMARY KEY (encoder, content)
)
 WITHOUT ROWID
;
CREATE TABLE annotator (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    panel TEXT NOT NULL,
    name TEXT NOT NULL,
    role VARCHAR(16) NOT NULL,
    source_id INTEGER,
    language VARCHAR(16),
    excluded TEXT,
    UNIQUE (panel, name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE collection (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    source_id INTEGER,
    UNIQUE (name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE mention (
    kind VARCHAR(16) NOT NULL,
    entity_id INTEGER NOT NULL,
    source_id INTEGER NOT NULL,
    PRIMARY KEY (kind, entity_id, source_id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE INDEX ix_mention_source_id ON mention (source_id)
;
CREATE TABLE prompt (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    suite TEXT NOT NULL,
    ref TEXT NOT NULL,
    text TEXT NOT NULL,
    text_sha BIGINT NOT NULL,
    expects JSON,
    source_id INTEGER,
    UNIQUE (suite, ref),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_prompt_text_sha ON prompt (text_sha)
;
CREATE TABLE question (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    scale VARCHAR(16) NOT NULL,
    low DOUBLE,
    high DOUBLE,
    step DOUBLE,
    labels JSON,
    wording TEXT NOT NULL,
    direction VARCHAR(8) NOT NULL,
    source_id INTEGER,
    UNIQUE (name, version),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE reference (
    name TEXT NOT NULL,
    distance TEXT NOT NULL,
    squared SMALLINT NOT NULL,
    n INTEGER NOT NULL,
    json JSON NOT NULL,
    source_id INTEGER,
    PRIMARY KEY (name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE round_item (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    round_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    again_of INTEGER,
    wanted INTEGER NOT NULL,
    given INTEGER NOT NULL,
    done INTEGER NOT NULL,
    UNIQUE (round_id, ordinal),
    FOREIGN KEY(round_id) REFERENCES round (id),
    FOREIGN KEY(again_of) REFERENCES round_item (id)
)
;
CREATE INDEX round_item_by_again ON round_item (again_of) WHERE again_of IS NOT NULL
;
CREATE INDEX round_item_by_need ON round_item (round_id, kind, given, ordinal)
;
CREATE TABLE image (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    sha256 VARCHAR(64),
    width INTEGER,
    height INTEGER,
    defect TEXT,
    source_id INTEGER,
    bytes_source_id INTEGER,
    UNIQUE (collection_id, name),
    FOREIGN KEY(collection_id) REFERENCES collection (id),
    FOREIGN KEY(source_id) REFERENCES source (id),
    FOREIGN KEY(bytes_source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_image_sha256 ON image (sha256)
;
CREATE TABLE prompt_link (
    prompt_id INTEGER NOT NULL,
    kind VARCHAR(32) NOT NULL,
    to_prompt_id INTEGER NOT NULL,
    source_id INTEGER,
    PRIMARY KEY (prompt_id, kind, to_prompt_id),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(to_prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE INDEX ix_prompt_link_to_prompt_id ON prompt_link (to_prompt_id)
;
CREATE TABLE prompt_tag (
    prompt_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    source_id INTEGER,
    PRIMARY KEY (prompt_id, name),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE INDEX prompt_tag_by_value ON prompt_tag (name, value, prompt_id)
;
CREATE TABLE settlement (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    question_id INTEGER NOT NULL,
    rule TEXT NOT NULL,
    screening TEXT NOT NULL,
    up_to INTEGER NOT NULL,
    identity VARCHAR(64) NOT NULL,
    at VARCHAR(32) NOT NULL,
    notes JSON,
    source_id INTEGER,
    FOREIGN KEY(question_id) REFERENCES question (id),
    UNIQUE (identity),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_settlement_question_id ON settlement (question_id)
;
CREATE TABLE system (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    collection_id INTEGER,
    source_id INTEGER,
    CONSTRAINT kind_known CHECK (kind IN ('generator', 'retriever')),
    UNIQUE (name),
    FOREIGN KEY(collection_id) REFERENCES collection (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE task (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "key" VARCHAR(32) NOT NULL,
    round_id INTEGER NOT NULL,
    annotator_id INTEGER NOT NULL,
    round_item_id INTEGER NOT NULL,
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    counted SMALLINT NOT NULL,
    assigned VARCHAR(32) NOT NULL,
    finished VARCHAR(32),
    took_ms INTEGER,
    UNIQUE (annotator_id, round_id, ordinal),
    UNIQUE ("key"),
    FOREIGN KEY(round_id) REFERENCES round (id),
    FOREIGN KEY(annotator_id) REFERENCES annotator (id),
    FOREIGN KEY(round_item_id) REFERENCES round_item (id)
)
;
CREATE INDEX ix_task_round_item_id ON task (round_item_id)
;
CREATE INDEX task_by_state ON task (round_id, state, assigned)
;
CREATE TABLE token (
    hash VARCHAR(64) NOT NULL,
    annotator_id INTEGER,
    round_id INTEGER,
    role VARCHAR(16) NOT NULL,
    made VARCHAR(32) NOT NULL,
    expires VARCHAR(32) NOT NULL,
    revoked VARCHAR(32),
    PRIMARY KEY (hash),
    FOREIGN KEY(annotator_id) REFERENCES annotator (id),
    FOREIGN KEY(round_id) REFERENCES round (id)
)
;
CREATE TABLE translation (
    prompt_id INTEGER NOT NULL,
    language VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    source_id INTEGER,
    PRIMARY KEY (prompt_id, language),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE TABLE answer (
    system_id INTEGER NOT NULL,
    prompt_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    image_id INTEGER,
    score DOUBLE,
    seed BIGINT,
    settings_id INTEGER,
    failure TEXT,
    source_id INTEGER,
    PRIMARY KEY (system_id, prompt_id, position),
    FOREIGN KEY(system_id) REFERENCES system (id),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(image_id) REFERENCES image (id),
    FOREIGN KEY(source_id) REFERENCES source (id),
    CONSTRAINT image_or_failure CHECK ((image_id IS NULL) = (failure IS NOT NULL)),
    CONSTRAINT score_finite CHECK (score BETWEEN -1.7e308 AND 1.7e308),
    FOREIGN KEY(settings_id) REFERENCES settings (id)
)
 WITHOUT ROWID
;
CREATE INDEX answer_by_settings ON answer (settings_id) WHERE settings_id IS NOT NULL
;
CREATE INDEX ix_answer_image_id ON answer (image_id)
;
CREATE INDEX ix_answer_prompt_id ON answer (prompt_id)
;
CREATE TABLE caption (
    image_id INTEGER NOT NULL,
    n SMALLINT NOT NULL,
    text TEXT NOT NULL,
    source_id INTEGER,
    PRIMARY KEY (image_id, n),
    FOREIGN KEY(image_id) REFERENCES image (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE TABLE evidence (
    measure_id INTEGER NOT NULL,
    prompt_id INTEGER NOT NULL,
    system_id INTEGER NOT NULL,
    image_id INTEGER NOT NULL,
    json JSON NOT NULL,
    PRIMARY KEY (measure_id, prompt_id, system_id, image_id),
    FOREIGN KEY(measure_id) REFERENCES measure (id)
)
 WITHOUT ROWID
;
CREATE INDEX evidence_by_image ON evidence (image_id) WHERE image_id <> 0
;
CREATE INDEX evidence_by_prompt ON evidence (prompt_id) WHERE prompt_id <> 0
;
CREATE TABLE fit (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    spec TEXT NOT NULL,
    settlement_id INTEGER NOT NULL,
    split TEXT NOT NULL,
    train_sha VARCHAR(64) NOT NULL,
    seed BIGINT NOT NULL,
    state TEXT,
    identity VARCHAR(64) NOT NULL,
    FOREIGN KEY(settlement_id) REFERENCES settlement (id),
    UNIQUE (identity)
)
;
CREATE TABLE image_tag (
    image_id INTEGER NOT NULL,
    prompt_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    source_id INTEGER,
    PRIMARY KEY (image_id, prompt_id, name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE INDEX image_tag_by_prompt ON image_tag (prompt_id) WHERE prompt_id <> 0
;
CREATE INDEX image_tag_by_value ON image_tag (name, value, image_id)
;
CREATE TABLE item (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    prompt_id INTEGER NOT NULL,
    system_id INTEGER NOT NULL,
    image_id INTEGER NOT NULL,
    image_b INTEGER NOT NULL,
    image_c INTEGER NOT NULL,
    system_b INTEGER NOT NULL,
    UNIQUE (prompt_id, system_id, image_id, image_b, image_c, system_b)
)
;
CREATE INDEX item_by_image ON item (image_id)
;
CREATE INDEX item_by_image_b ON item (image_b) WHERE image_b <> 0
;
CREATE INDEX item_by_image_c ON item (image_c) WHERE image_c <> 0
;
CREATE TABLE remark (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "key" VARCHAR(32) NOT NULL,
    task_id INTEGER NOT NULL,
    slot SMALLINT NOT NULL,
    part SMALLINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    boxes JSON NOT NULL,
    at VARCHAR(40) NOT NULL,
    source_id INTEGER,
    UNIQUE ("key"),
    FOREIGN KEY(task_id) REFERENCES task (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_remark_task_id ON remark (task_id)
;
CREATE TABLE scene (
    image_id INTEGER NOT NULL,
    json JSON NOT NULL,
    source_id INTEGER,
    PRIMARY KEY (image_id),
    FOREIGN KEY(image_id) REFERENCES image (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE TABLE score (
    measure_id INTEGER NOT NULL,
    prompt_id INTEGER NOT NULL,
    system_id INTEGER NOT NULL,
    image_id INTEGER NOT NULL,
    inputs BIGINT NOT NULL,
    value DOUBLE,
    reason TEXT,
    source_id INTEGER,
    PRIMARY KEY (measure_id, prompt_id, system_id, image_id),
    FOREIGN KEY(measure_id) REFERENCES measure (id),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308),
    CONSTRAINT value_or_reason CHECK ((value IS NULL) = (reason IS NOT NULL)),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE INDEX score_by_image ON score (image_id) WHERE image_id <> 0
;
CREATE INDEX score_by_inputs ON score (measure_id, inputs)
;
CREATE INDEX score_by_prompt ON score (prompt_id) WHERE prompt_id <> 0
;
CREATE TABLE control (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    item_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    expected DOUBLE NOT NULL,
    tolerance DOUBLE NOT NULL,
    UNIQUE (item_id, question_id, kind),
    FOREIGN KEY(item_id) REFERENCES item (id),
    FOREIGN KEY(question_id) REFERENCES question (id)
)
;
CREATE TABLE judgement (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "key" VARCHAR(32) NOT NULL,
    question_id INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    annotator_id INTEGER,
    task_id INTEGER,
    slot SMALLINT,
    repetition INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    group_name TEXT DEFAULT '' NOT NULL,
    value DOUBLE,
    skipped TEXT,
    n INTEGER NOT NULL,
    session TEXT NOT NULL,
    control SMALLINT NOT NULL,
    took_ms INTEGER,
    at VARCHAR(40),
    source_id INTEGER,
    UNIQUE (annotator_id, question_id, item_id, group_name, repetition, revision),
    CONSTRAINT value_or_skipped CHECK ((value IS NULL) = (skipped IS NOT NULL)),
    CONSTRAINT counted_votes_are_anonymous CHECK (n = 1 OR annotator_id IS NULL),
    CONSTRAINT n_positive CHECK (n >= 1),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308),
    UNIQUE ("key"),
    FOREIGN KEY(question_id) REFERENCES question (id),
    FOREIGN KEY(item_id) REFERENCES item (id),
    FOREIGN KEY(annotator_id) REFERENCES annotator (id),
    FOREIGN KEY(task_id) REFERENCES task (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_judgement_item_id ON judgement (item_id)
;
CREATE INDEX ix_judgement_task_id ON judgement (task_id)
;
CREATE INDEX judgement_by_item ON judgement (question_id, item_id)
;
CREATE TABLE prediction (
    fit_id INTEGER NOT NULL,
    prompt_id INTEGER NOT NULL,
    system_id INTEGER NOT NULL,
    image_id INTEGER NOT NULL,
    fold INTEGER,
    value DOUBLE,
    low DOUBLE,
    high DOUBLE,
    reason TEXT,
    PRIMARY KEY (fit_id, prompt_id, system_id, image_id),
    FOREIGN KEY(fit_id) REFERENCES fit (id),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308)
)
 WITHOUT ROWID
;
CREATE INDEX prediction_by_image ON prediction (image_id) WHERE image_id <> 0
;
CREATE INDEX prediction_by_prompt ON prediction (prompt_id) WHERE prompt_id <> 0
;
CREATE TABLE round_item_slot (
    round_item_id INTEGER NOT NULL,
    slot SMALLINT NOT NULL,
    item_id INTEGER NOT NULL,
    control SMALLINT NOT NULL,
    PRIMARY KEY (round_item_id, slot),
    FOREIGN KEY(round_item_id) REFERENCES round_item (id),
    FOREIGN KEY(item_id) REFERENCES item (id)
)
 WITHOUT ROWID
;
CREATE INDEX ix_round_item_slot_item_id ON round_item_slot (item_id)
;
CREATE TABLE task_slot (
    task_id INTEGER NOT NULL,
    slot SMALLINT NOT NULL,
    item_id INTEGER NOT NULL,
    control SMALLINT NOT NULL,
    swapped SMALLINT NOT NULL,
    repetition INTEGER NOT NULL,
    PRIMARY KEY (task_id, slot),
    FOREIGN KEY(task_id) REFERENCES task (id),
    FOREIGN KEY(item_id) REFERENCES item (id)
)
 WITHOUT ROWID
;
CREATE INDEX ix_task_slot_item_id ON task_slot (item_id)
;
CREATE TABLE truth (
    settlement_id INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    value DOUBLE,
    low DOUBLE,
    high DOUBLE,
    n INTEGER,
    reason TEXT,
    source_id INTEGER,
    PRIMARY KEY (settlement_id, item_id),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308),
    CONSTRAINT value_or_reason CHECK ((value IS NULL) = (reason IS NOT NULL)),
    FOREIGN KEY(settlement_id) REFERENCES settlement (id),
    FOREIGN KEY(item_id) REFERENCES item (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
 WITHOUT ROWID
;
CREATE INDEX ix_truth_item_id ON truth (item_id)
;
CREATE TRIGGER item_insert BEFORE INSERT ON item BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.prompt_id') WHERE NEW.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt WHERE id = NEW.prompt_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.system_id') WHERE NEW.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system WHERE id = NEW.system_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_id') WHERE NEW.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_b') WHERE NEW.image_b <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_b); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_c') WHERE NEW.image_c <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_c); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.system_b') WHERE NEW.system_b <> 0 AND NOT EXISTS (SELECT 1 FROM system WHERE id = NEW.system_b); END
;
CREATE TRIGGER item_update BEFORE UPDATE ON item BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.prompt_id') WHERE NEW.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt WHERE id = NEW.prompt_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.system_id') WHERE NEW.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system WHERE id = NEW.system_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_id') WHERE NEW.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_b') WHERE NEW.image_b <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_b); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_c') WHERE NEW.image_c <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_c); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.system_b') WHERE NEW.system_b <> 0 AND NOT EXISTS (SELECT 1 FROM system WHERE id = NEW.system_b); END
;
CREATE TRIGGER image_tag_insert BEFORE INSERT ON image_tag BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: image_tag.prompt_id') WHERE NEW.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt WHERE id = NEW.prompt_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: image_tag.image_id') WHERE NEW.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_id); END
;
CREATE TRIGGER score_insert BEFORE INSERT ON score BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: score.prompt_id') WHERE NEW.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt WHERE id = NEW.prompt_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: score.system_id') WHERE NEW.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system WHERE id = NEW.system_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: score.image_id') WHERE NEW.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_id); END
;
CREATE TRIGGER evidence_insert BEFORE INSERT ON evidence BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: evidence.prompt_id') WHERE NEW.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt WHERE id = NEW.prompt_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: evidence.system_id') WHERE NEW.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system WHERE id = NEW.system_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: evidence.image_id') WHERE NEW.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_id); END
;
CREATE TRIGGER prediction_insert BEFORE INSERT ON prediction BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: prediction.prompt_id') WHERE NEW.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt WHERE id = NEW.prompt_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: prediction.system_id') WHERE NEW.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system WHERE id = NEW.system_id); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: prediction.image_id') WHERE NEW.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image WHERE id = NEW.image_id); END
;
CREATE TRIGGER prompt_delete AFTER DELETE ON prompt BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.prompt_id') WHERE EXISTS (SELECT 1 FROM item WHERE prompt_id = OLD.id AND prompt_id <> 0); DELETE FROM image_tag WHERE prompt_id = OLD.id AND prompt_id <> 0; DELETE FROM score WHERE prompt_id = OLD.id AND prompt_id <> 0; DELETE FROM evidence WHERE prompt_id = OLD.id AND prompt_id <> 0; DELETE FROM prediction WHERE prompt_id = OLD.id AND prompt_id <> 0; END
;
CREATE TRIGGER system_delete AFTER DELETE ON system BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.system_id') WHERE EXISTS (SELECT 1 FROM item WHERE system_id = OLD.id AND system_id <> 0); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.system_b') WHERE EXISTS (SELECT 1 FROM item WHERE system_b = OLD.id AND system_b <> 0); DELETE FROM score WHERE system_id = OLD.id AND system_id <> 0; DELETE FROM evidence WHERE system_id = OLD.id AND system_id <> 0; DELETE FROM prediction WHERE system_id = OLD.id AND system_id <> 0; END
;
CREATE TRIGGER image_delete AFTER DELETE ON image BEGIN SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_id') WHERE EXISTS (SELECT 1 FROM item WHERE image_id = OLD.id AND image_id <> 0); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_b') WHERE EXISTS (SELECT 1 FROM item WHERE image_b = OLD.id AND image_b <> 0); SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: item.image_c') WHERE EXISTS (SELECT 1 FROM item WHERE image_c = OLD.id AND image_c <> 0); DELETE FROM image_tag WHERE image_id = OLD.id AND image_id <> 0; DELETE FROM score WHERE image_id = OLD.id AND image_id <> 0; DELETE FROM evidence WHERE image_id = OLD.id AND image_id <> 0; DELETE FROM prediction WHERE image_id = OLD.id AND image_id <> 0; END
;
