CREATE TABLE detection (
    detector VARCHAR(64) NOT NULL,
    content VARCHAR(64) NOT NULL,
    json JSON NOT NULL,
    PRIMARY KEY (detector, content)
)
;
CREATE TABLE event (
    id BIGSERIAL NOT NULL,
    at VARCHAR(32) NOT NULL,
    actor TEXT NOT NULL,
    what VARCHAR(32) NOT NULL,
    json JSON,
    PRIMARY KEY (id)
)
;
CREATE TABLE measure (
    id BIGSERIAL NOT NULL,
    kind VARCHAR(16) NOT NULL,
    spec TEXT NOT NULL,
    version INTEGER NOT NULL,
    direction VARCHAR(8) NOT NULL,
    identity VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (identity)
)
;
CREATE TABLE round (
    id BIGSERIAL NOT NULL,
    name TEXT NOT NULL,
    mode TEXT NOT NULL,
    questions JSON NOT NULL,
    settings JSON NOT NULL,
    seed BIGINT NOT NULL,
    state VARCHAR(16) NOT NULL,
    at VARCHAR(32) NOT NULL,
    PRIMARY KEY (id),
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
    id BIGSERIAL NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    json JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (sha256)
)
;
CREATE TABLE source (
    id BIGSERIAL NOT NULL,
    importer TEXT NOT NULL,
    path TEXT NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    at VARCHAR(32) NOT NULL,
    counts JSON,
    PRIMARY KEY (id),
    UNIQUE (importer, sha256)
)
;
CREATE TABLE vector (
    encoder VARCHAR(64) NOT NULL,
    content VARCHAR(64) NOT NULL,
    shard INTEGER NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (encoder, content)
)
;
CREATE TABLE annotator (
    id BIGSERIAL NOT NULL,
    panel TEXT NOT NULL,
    name TEXT NOT NULL,
    role VARCHAR(16) NOT NULL,
    source_id BIGINT,
    language VARCHAR(16),
    excluded TEXT,
    PRIMARY KEY (id),
    UNIQUE (panel, name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE collection (
    id BIGSERIAL NOT NULL,
    name TEXT NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (id),
    UNIQUE (name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE mention (
    kind VARCHAR(16) NOT NULL,
    entity_id BIGINT NOT NULL,
    source_id BIGINT NOT NULL,
    PRIMARY KEY (kind, entity_id, source_id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_mention_source_id ON mention (source_id)
;
CREATE TABLE prompt (
    id BIGSERIAL NOT NULL,
    suite TEXT NOT NULL,
    ref TEXT NOT NULL,
    text TEXT NOT NULL,
    text_sha BIGINT NOT NULL,
    expects JSON,
    source_id BIGINT,
    PRIMARY KEY (id),
    UNIQUE (suite, ref),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_prompt_text_sha ON prompt (text_sha)
;
CREATE TABLE question (
    id BIGSERIAL NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    scale VARCHAR(16) NOT NULL,
    low DOUBLE PRECISION,
    high DOUBLE PRECISION,
    step DOUBLE PRECISION,
    labels JSON,
    wording TEXT NOT NULL,
    direction VARCHAR(8) NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (id),
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
    source_id BIGINT,
    PRIMARY KEY (name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE round_item (
    id BIGSERIAL NOT NULL,
    round_id BIGINT NOT NULL,
    ordinal INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    again_of BIGINT,
    wanted INTEGER NOT NULL,
    given INTEGER NOT NULL,
    done INTEGER NOT NULL,
    PRIMARY KEY (id),
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
    id BIGSERIAL NOT NULL,
    collection_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    sha256 VARCHAR(64),
    width INTEGER,
    height INTEGER,
    defect TEXT,
    source_id BIGINT,
    bytes_source_id BIGINT,
    PRIMARY KEY (id),
    UNIQUE (collection_id, name)
)
;
CREATE INDEX ix_image_sha256 ON image (sha256)
;
CREATE TABLE prompt_link (
    prompt_id BIGINT NOT NULL,
    kind VARCHAR(32) NOT NULL,
    to_prompt_id BIGINT NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (prompt_id, kind, to_prompt_id),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(to_prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_prompt_link_to_prompt_id ON prompt_link (to_prompt_id)
;
CREATE TABLE prompt_tag (
    prompt_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (prompt_id, name),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX prompt_tag_by_value ON prompt_tag (name, value, prompt_id)
;
CREATE TABLE settlement (
    id BIGSERIAL NOT NULL,
    question_id BIGINT NOT NULL,
    rule TEXT NOT NULL,
    screening TEXT NOT NULL,
    up_to BIGINT NOT NULL,
    identity VARCHAR(64) NOT NULL,
    at VARCHAR(32) NOT NULL,
    notes JSON,
    source_id BIGINT,
    PRIMARY KEY (id),
    FOREIGN KEY(question_id) REFERENCES question (id),
    UNIQUE (identity),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_settlement_question_id ON settlement (question_id)
;
CREATE TABLE system (
    id BIGSERIAL NOT NULL,
    name TEXT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    collection_id BIGINT,
    source_id BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT kind_known CHECK (kind IN ('generator', 'retriever')),
    UNIQUE (name),
    FOREIGN KEY(collection_id) REFERENCES collection (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE task (
    id BIGSERIAL NOT NULL,
    key VARCHAR(32) NOT NULL,
    round_id BIGINT NOT NULL,
    annotator_id BIGINT NOT NULL,
    round_item_id BIGINT NOT NULL,
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    counted SMALLINT NOT NULL,
    assigned VARCHAR(32) NOT NULL,
    finished VARCHAR(32),
    took_ms INTEGER,
    PRIMARY KEY (id),
    UNIQUE (annotator_id, round_id, ordinal),
    UNIQUE (key),
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
    annotator_id BIGINT,
    round_id BIGINT,
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
    prompt_id BIGINT NOT NULL,
    language VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (prompt_id, language),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE answer (
    system_id BIGINT NOT NULL,
    prompt_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    image_id BIGINT,
    score DOUBLE PRECISION,
    seed BIGINT,
    settings_id BIGINT,
    failure TEXT,
    source_id BIGINT,
    PRIMARY KEY (system_id, prompt_id, position),
    CONSTRAINT image_or_failure CHECK ((image_id IS NULL) = (failure IS NOT NULL)),
    CONSTRAINT score_finite CHECK (score BETWEEN -1.7e308 AND 1.7e308),
    FOREIGN KEY(settings_id) REFERENCES settings (id)
)
;
CREATE INDEX answer_by_settings ON answer (settings_id) WHERE settings_id IS NOT NULL
;
CREATE INDEX ix_answer_image_id ON answer (image_id)
;
CREATE INDEX ix_answer_prompt_id ON answer (prompt_id)
;
CREATE TABLE caption (
    image_id BIGINT NOT NULL,
    n SMALLINT NOT NULL,
    text TEXT NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (image_id, n),
    FOREIGN KEY(image_id) REFERENCES image (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE evidence (
    measure_id BIGINT NOT NULL,
    prompt_id BIGINT NOT NULL,
    system_id BIGINT NOT NULL,
    image_id BIGINT NOT NULL,
    json JSON NOT NULL,
    PRIMARY KEY (measure_id, prompt_id, system_id, image_id)
)
;
CREATE INDEX evidence_by_image ON evidence (image_id) WHERE image_id <> 0
;
CREATE INDEX evidence_by_prompt ON evidence (prompt_id) WHERE prompt_id <> 0
;
CREATE TABLE fit (
    id BIGSERIAL NOT NULL,
    spec TEXT NOT NULL,
    settlement_id BIGINT NOT NULL,
    split TEXT NOT NULL,
    train_sha VARCHAR(64) NOT NULL,
    seed BIGINT NOT NULL,
    state TEXT,
    identity VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(settlement_id) REFERENCES settlement (id),
    UNIQUE (identity)
)
;
CREATE TABLE image_tag (
    image_id BIGINT NOT NULL,
    prompt_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (image_id, prompt_id, name),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX image_tag_by_prompt ON image_tag (prompt_id) WHERE prompt_id <> 0
;
CREATE INDEX image_tag_by_value ON image_tag (name, value, image_id)
;
CREATE TABLE item (
    id BIGSERIAL NOT NULL,
    prompt_id BIGINT NOT NULL,
    system_id BIGINT NOT NULL,
    image_id BIGINT NOT NULL,
    image_b BIGINT NOT NULL,
    image_c BIGINT NOT NULL,
    system_b BIGINT NOT NULL,
    PRIMARY KEY (id),
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
    id BIGSERIAL NOT NULL,
    key VARCHAR(32) NOT NULL,
    task_id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    part SMALLINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    boxes JSON NOT NULL,
    at VARCHAR(40) NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (id),
    UNIQUE (key),
    FOREIGN KEY(task_id) REFERENCES task (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_remark_task_id ON remark (task_id)
;
CREATE TABLE scene (
    image_id BIGINT NOT NULL,
    json JSON NOT NULL,
    source_id BIGINT,
    PRIMARY KEY (image_id),
    FOREIGN KEY(image_id) REFERENCES image (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE TABLE score (
    measure_id BIGINT NOT NULL,
    prompt_id BIGINT NOT NULL,
    system_id BIGINT NOT NULL,
    image_id BIGINT NOT NULL,
    inputs BIGINT NOT NULL,
    value DOUBLE PRECISION,
    reason TEXT,
    source_id BIGINT,
    PRIMARY KEY (measure_id, prompt_id, system_id, image_id),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308),
    CONSTRAINT value_or_reason CHECK ((value IS NULL) = (reason IS NOT NULL)),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX score_by_image ON score (image_id) WHERE image_id <> 0
;
CREATE INDEX score_by_inputs ON score (measure_id, inputs)
;
CREATE INDEX score_by_prompt ON score (prompt_id) WHERE prompt_id <> 0
;
CREATE TABLE control (
    id BIGSERIAL NOT NULL,
    item_id BIGINT NOT NULL,
    question_id BIGINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    expected DOUBLE PRECISION NOT NULL,
    tolerance DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (item_id, question_id, kind),
    FOREIGN KEY(item_id) REFERENCES item (id),
    FOREIGN KEY(question_id) REFERENCES question (id)
)
;
CREATE TABLE judgement (
    id BIGSERIAL NOT NULL,
    key VARCHAR(32) NOT NULL,
    question_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    annotator_id BIGINT,
    task_id BIGINT,
    slot SMALLINT,
    repetition INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    group_name TEXT DEFAULT '' NOT NULL,
    value DOUBLE PRECISION,
    skipped TEXT,
    n INTEGER NOT NULL,
    session TEXT NOT NULL,
    control SMALLINT NOT NULL,
    took_ms INTEGER,
    at VARCHAR(40),
    source_id BIGINT,
    PRIMARY KEY (id),
    UNIQUE (annotator_id, question_id, item_id, group_name, repetition, revision),
    CONSTRAINT value_or_skipped CHECK ((value IS NULL) = (skipped IS NOT NULL)),
    CONSTRAINT counted_votes_are_anonymous CHECK (n = 1 OR annotator_id IS NULL),
    CONSTRAINT n_positive CHECK (n >= 1),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308),
    UNIQUE (key),
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
    fit_id BIGINT NOT NULL,
    prompt_id BIGINT NOT NULL,
    system_id BIGINT NOT NULL,
    image_id BIGINT NOT NULL,
    fold INTEGER,
    value DOUBLE PRECISION,
    low DOUBLE PRECISION,
    high DOUBLE PRECISION,
    reason TEXT,
    PRIMARY KEY (fit_id, prompt_id, system_id, image_id),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308)
)
;
CREATE INDEX prediction_by_image ON prediction (image_id) WHERE image_id <> 0
;
CREATE INDEX prediction_by_prompt ON prediction (prompt_id) WHERE prompt_id <> 0
;
CREATE TABLE round_item_slot (
    round_item_id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    item_id BIGINT NOT NULL,
    control SMALLINT NOT NULL,
    PRIMARY KEY (round_item_id, slot),
    FOREIGN KEY(round_item_id) REFERENCES round_item (id),
    FOREIGN KEY(item_id) REFERENCES item (id)
)
;
CREATE INDEX ix_round_item_slot_item_id ON round_item_slot (item_id)
;
CREATE TABLE task_slot (
    task_id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    item_id BIGINT NOT NULL,
    control SMALLINT NOT NULL,
    swapped SMALLINT NOT NULL,
    repetition INTEGER NOT NULL,
    PRIMARY KEY (task_id, slot),
    FOREIGN KEY(task_id) REFERENCES task (id),
    FOREIGN KEY(item_id) REFERENCES item (id)
)
;
CREATE INDEX ix_task_slot_item_id ON task_slot (item_id)
;
CREATE TABLE truth (
    settlement_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    value DOUBLE PRECISION,
    low DOUBLE PRECISION,
    high DOUBLE PRECISION,
    n INTEGER,
    reason TEXT,
    source_id BIGINT,
    PRIMARY KEY (settlement_id, item_id),
    CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308),
    CONSTRAINT value_or_reason CHECK ((value IS NULL) = (reason IS NOT NULL)),
    FOREIGN KEY(settlement_id) REFERENCES settlement (id),
    FOREIGN KEY(item_id) REFERENCES item (id),
    FOREIGN KEY(source_id) REFERENCES source (id)
)
;
CREATE INDEX ix_truth_item_id ON truth (item_id)
;
CREATE OR REPLACE FUNCTION image_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM added a WHERE a.collection_id <> 0 AND NOT EXISTS (SELECT 1 FROM collection t WHERE t.id = a.collection_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image.collection_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.source_id <> 0 AND NOT EXISTS (SELECT 1 FROM source t WHERE t.id = a.source_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image.source_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.bytes_source_id <> 0 AND NOT EXISTS (SELECT 1 FROM source t WHERE t.id = a.bytes_source_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image.bytes_source_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER image_insert AFTER INSERT ON image REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION image_added()
;
CREATE TRIGGER image_update AFTER UPDATE ON image REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION image_added()
;
CREATE OR REPLACE FUNCTION answer_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM added a WHERE a.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system t WHERE t.id = a.system_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.system_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt t WHERE t.id = a.prompt_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.prompt_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.image_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.settings_id <> 0 AND NOT EXISTS (SELECT 1 FROM settings t WHERE t.id = a.settings_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.settings_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.source_id <> 0 AND NOT EXISTS (SELECT 1 FROM source t WHERE t.id = a.source_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.source_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER answer_insert AFTER INSERT ON answer REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION answer_added()
;
CREATE TRIGGER answer_update AFTER UPDATE ON answer REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION answer_added()
;
CREATE OR REPLACE FUNCTION evidence_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM added a WHERE a.measure_id <> 0 AND NOT EXISTS (SELECT 1 FROM measure t WHERE t.id = a.measure_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: evidence.measure_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt t WHERE t.id = a.prompt_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: evidence.prompt_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system t WHERE t.id = a.system_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: evidence.system_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: evidence.image_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER evidence_insert AFTER INSERT ON evidence REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION evidence_added()
;
CREATE OR REPLACE FUNCTION score_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM added a WHERE a.measure_id <> 0 AND NOT EXISTS (SELECT 1 FROM measure t WHERE t.id = a.measure_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: score.measure_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt t WHERE t.id = a.prompt_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: score.prompt_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system t WHERE t.id = a.system_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: score.system_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: score.image_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER score_insert AFTER INSERT ON score REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION score_added()
;
CREATE OR REPLACE FUNCTION prediction_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM added a WHERE a.fit_id <> 0 AND NOT EXISTS (SELECT 1 FROM fit t WHERE t.id = a.fit_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: prediction.fit_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt t WHERE t.id = a.prompt_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: prediction.prompt_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system t WHERE t.id = a.system_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: prediction.system_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: prediction.image_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER prediction_insert AFTER INSERT ON prediction REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION prediction_added()
;
CREATE OR REPLACE FUNCTION item_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM added a WHERE a.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt t WHERE t.id = a.prompt_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.prompt_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.system_id <> 0 AND NOT EXISTS (SELECT 1 FROM system t WHERE t.id = a.system_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.system_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.image_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_b <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_b)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.image_b'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_c <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_c)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.image_c'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.system_b <> 0 AND NOT EXISTS (SELECT 1 FROM system t WHERE t.id = a.system_b)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.system_b'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER item_insert AFTER INSERT ON item REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION item_added()
;
CREATE TRIGGER item_update AFTER UPDATE ON item REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION item_added()
;
CREATE OR REPLACE FUNCTION image_tag_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM added a WHERE a.prompt_id <> 0 AND NOT EXISTS (SELECT 1 FROM prompt t WHERE t.id = a.prompt_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image_tag.prompt_id'; END IF; IF EXISTS (SELECT 1 FROM added a WHERE a.image_id <> 0 AND NOT EXISTS (SELECT 1 FROM image t WHERE t.id = a.image_id)) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image_tag.image_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER image_tag_insert AFTER INSERT ON image_tag REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION image_tag_added()
;
CREATE OR REPLACE FUNCTION collection_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM image c JOIN removed r ON c.collection_id = r.id AND c.collection_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image.collection_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER collection_delete AFTER DELETE ON collection REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION collection_removed()
;
CREATE OR REPLACE FUNCTION source_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM image c JOIN removed r ON c.source_id = r.id AND c.source_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image.source_id'; END IF; IF EXISTS (SELECT 1 FROM image c JOIN removed r ON c.bytes_source_id = r.id AND c.bytes_source_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: image.bytes_source_id'; END IF; IF EXISTS (SELECT 1 FROM answer c JOIN removed r ON c.source_id = r.id AND c.source_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.source_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER source_delete AFTER DELETE ON source REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION source_removed()
;
CREATE OR REPLACE FUNCTION system_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM answer c JOIN removed r ON c.system_id = r.id AND c.system_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.system_id'; END IF; IF EXISTS (SELECT 1 FROM item c JOIN removed r ON c.system_id = r.id AND c.system_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.system_id'; END IF; IF EXISTS (SELECT 1 FROM item c JOIN removed r ON c.system_b = r.id AND c.system_b <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.system_b'; END IF; DELETE FROM score c USING removed r WHERE c.system_id = r.id AND c.system_id <> 0; DELETE FROM evidence c USING removed r WHERE c.system_id = r.id AND c.system_id <> 0; DELETE FROM prediction c USING removed r WHERE c.system_id = r.id AND c.system_id <> 0; RETURN NULL; END $$
;
CREATE TRIGGER system_delete AFTER DELETE ON system REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION system_removed()
;
CREATE OR REPLACE FUNCTION prompt_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM answer c JOIN removed r ON c.prompt_id = r.id AND c.prompt_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.prompt_id'; END IF; IF EXISTS (SELECT 1 FROM item c JOIN removed r ON c.prompt_id = r.id AND c.prompt_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.prompt_id'; END IF; DELETE FROM image_tag c USING removed r WHERE c.prompt_id = r.id AND c.prompt_id <> 0; DELETE FROM score c USING removed r WHERE c.prompt_id = r.id AND c.prompt_id <> 0; DELETE FROM evidence c USING removed r WHERE c.prompt_id = r.id AND c.prompt_id <> 0; DELETE FROM prediction c USING removed r WHERE c.prompt_id = r.id AND c.prompt_id <> 0; RETURN NULL; END $$
;
CREATE TRIGGER prompt_delete AFTER DELETE ON prompt REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION prompt_removed()
;
CREATE OR REPLACE FUNCTION image_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM answer c JOIN removed r ON c.image_id = r.id AND c.image_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.image_id'; END IF; IF EXISTS (SELECT 1 FROM item c JOIN removed r ON c.image_id = r.id AND c.image_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.image_id'; END IF; IF EXISTS (SELECT 1 FROM item c JOIN removed r ON c.image_b = r.id AND c.image_b <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.image_b'; END IF; IF EXISTS (SELECT 1 FROM item c JOIN removed r ON c.image_c = r.id AND c.image_c <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: item.image_c'; END IF; DELETE FROM image_tag c USING removed r WHERE c.image_id = r.id AND c.image_id <> 0; DELETE FROM score c USING removed r WHERE c.image_id = r.id AND c.image_id <> 0; DELETE FROM evidence c USING removed r WHERE c.image_id = r.id AND c.image_id <> 0; DELETE FROM prediction c USING removed r WHERE c.image_id = r.id AND c.image_id <> 0; RETURN NULL; END $$
;
CREATE TRIGGER image_delete AFTER DELETE ON image REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION image_removed()
;
CREATE OR REPLACE FUNCTION settings_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM answer c JOIN removed r ON c.settings_id = r.id AND c.settings_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: answer.settings_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER settings_delete AFTER DELETE ON settings REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION settings_removed()
;
CREATE OR REPLACE FUNCTION measure_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM evidence c JOIN removed r ON c.measure_id = r.id AND c.measure_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: evidence.measure_id'; END IF; IF EXISTS (SELECT 1 FROM score c JOIN removed r ON c.measure_id = r.id AND c.measure_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: score.measure_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER measure_delete AFTER DELETE ON measure REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION measure_removed()
;
CREATE OR REPLACE FUNCTION fit_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM prediction c JOIN removed r ON c.fit_id = r.id AND c.fit_id <> 0) THEN RAISE foreign_key_violation USING MESSAGE = 'FOREIGN KEY constraint failed: prediction.fit_id'; END IF; RETURN NULL; END $$
;
CREATE TRIGGER fit_delete AFTER DELETE ON fit REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION fit_removed()
;
