"""Opening a study; its tables and all SQL; migrations; image files, thumbnails and vectors."""
