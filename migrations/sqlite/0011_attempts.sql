-- What each attempt of a delivery met with; they are few, since a delivery is given up after a day.

CREATE TABLE attempts (
    delivery_id BIGINT NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    attempted_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT NOT NULL,
    next_at BIGINT,
    PRIMARY KEY (delivery_id, number)
) WITHOUT ROWID;
