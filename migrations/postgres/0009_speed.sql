-- What is looked for by these columns, also when an account or a user goes and takes its rows along, is found without
-- reading the whole table.

CREATE INDEX sign_in_links_by_user ON sign_in_links (user_id);
CREATE INDEX sign_in_links_by_end ON sign_in_links (expires_at);
CREATE INDEX sign_up_links_by_end ON sign_up_links (expires_at);
CREATE INDEX letters_by_account ON letters (account_id);
CREATE INDEX deliveries_by_account ON deliveries (account_id);
CREATE INDEX unseen_by_account ON unseen (account_id, gap_ended_at);
