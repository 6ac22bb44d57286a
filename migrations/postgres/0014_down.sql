-- What else of a project is down stands in every alert, and must not cost a look at all its checks. An entry moves only
-- when a check goes down or comes up, never with a ping.
CREATE INDEX checks_down ON checks (project_id, id) WHERE status = 'down';
