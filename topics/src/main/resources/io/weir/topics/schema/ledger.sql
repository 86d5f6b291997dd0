-- SPDX-License-Identifier: Apache-2.0
-- The rows of weir.usage.ledger.v1 as a table of PostgreSQL 11 or newer: a column for each member,
-- and a row for each record_id. Absent members are NULL. docs/billing.md describes how to fill it.

CREATE TABLE weir_ledger (
  schema_version bigint NOT NULL,
  record_id text NOT NULL PRIMARY KEY,
  record_type text NOT NULL,
  revision bigint,
  previous_record_id text,
  reason text,
  client text,
  meter text,
  endpoint text,
  others boolean,
  unit text,
  scale bigint,
  window_start_ms bigint,
  window_end_ms bigint,
  "window" text,
  billing_period text,
  billing_period_start_ms bigint,
  billing_period_end_ms bigint,
  billing_zone text,
  quantity bigint,
  calls_allowed bigint,
  calls_denied bigint,
  calls_fail_open bigint,
  duplicates_dropped bigint,
  late_count bigint,
  first_offset bigint,
  last_offset bigint,
  event_count bigint,
  events_digest text,
  policies_version bigint,
  quantity_total bigint NOT NULL,
  input_partition bigint NOT NULL,
  closed_through_ms bigint NOT NULL,
  rows bigint,
  complete boolean NOT NULL,
  emitted_at_ms bigint NOT NULL,
  CONSTRAINT weir_ledger_schema_version CHECK (schema_version IN (1, 2)),
  CONSTRAINT weir_ledger_record_type CHECK (record_type IN ('FINAL', 'ADJUSTMENT', 'CLOSE')),
  CONSTRAINT weir_ledger_usage CHECK (record_type = 'CLOSE' OR (
    revision IS NOT NULL
    AND client IS NOT NULL
    AND meter IS NOT NULL
    AND endpoint IS NOT NULL
    AND unit IS NOT NULL
    AND scale IS NOT NULL
    AND window_start_ms IS NOT NULL
    AND window_end_ms IS NOT NULL
    AND "window" IS NOT NULL
    AND billing_period IS NOT NULL
    AND quantity IS NOT NULL
    AND calls_allowed IS NOT NULL
    AND calls_denied IS NOT NULL
    AND calls_fail_open IS NOT NULL
    AND duplicates_dropped IS NOT NULL
    AND late_count IS NOT NULL
    AND first_offset IS NOT NULL
    AND last_offset IS NOT NULL
    AND event_count IS NOT NULL
    AND events_digest IS NOT NULL
    AND policies_version IS NOT NULL)),
  CONSTRAINT weir_ledger_reason CHECK ((record_type = 'ADJUSTMENT') = (reason IS NOT NULL)),
  CONSTRAINT weir_ledger_close CHECK ((record_type = 'CLOSE') = (rows IS NOT NULL)),
  CONSTRAINT weir_ledger_period CHECK ((schema_version = 2) = (
    billing_period_start_ms IS NOT NULL
    AND billing_period_end_ms IS NOT NULL
    AND billing_zone IS NOT NULL))
);

CREATE INDEX weir_ledger_by_client ON weir_ledger (client, window_start_ms);

-- When the aggregator counts again, it writes a row again with the same record_id. The first row
-- stays: the second may lack calls that have expired. This protects only Weir's own columns; columns
-- that a biller has added can be updated.
CREATE FUNCTION weir_ledger_keep_first() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_other boolean;
BEGIN
  NEW.emitted_at_ms := OLD.emitted_at_ms;
  is_other := (
    NEW.schema_version, NEW.record_id, NEW.record_type, NEW.revision,
    NEW.previous_record_id, NEW.reason, NEW.client, NEW.meter,
    NEW.endpoint, NEW.others, NEW.unit, NEW.scale,
    NEW.window_start_ms, NEW.window_end_ms, NEW."window", NEW.billing_period,
    NEW.billing_period_start_ms, NEW.billing_period_end_ms, NEW.billing_zone, NEW.quantity,
    NEW.calls_allowed, NEW.calls_denied, NEW.calls_fail_open, NEW.duplicates_dropped,
    NEW.late_count, NEW.first_offset, NEW.last_offset, NEW.event_count,
    NEW.events_digest, NEW.policies_version, NEW.quantity_total, NEW.input_partition,
    NEW.closed_through_ms, NEW.rows, NEW.complete, NEW.emitted_at_ms
  ) IS DISTINCT FROM (
    OLD.schema_version, OLD.record_id, OLD.record_type, OLD.revision,
    OLD.previous_record_id, OLD.reason, OLD.client, OLD.meter,
    OLD.endpoint, OLD.others, OLD.unit, OLD.scale,
    OLD.window_start_ms, OLD.window_end_ms, OLD."window", OLD.billing_period,
    OLD.billing_period_start_ms, OLD.billing_period_end_ms, OLD.billing_zone, OLD.quantity,
    OLD.calls_allowed, OLD.calls_denied, OLD.calls_fail_open, OLD.duplicates_dropped,
    OLD.late_count, OLD.first_offset, OLD.last_offset, OLD.event_count,
    OLD.events_digest, OLD.policies_version, OLD.quantity_total, OLD.input_partition,
    OLD.closed_through_ms, OLD.rows, OLD.complete, OLD.emitted_at_ms
  );
  IF is_other THEN
    RAISE WARNING 'weir_ledger: row % was received again with other figures; the first row stays', OLD.record_id;
    RETURN OLD;
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER weir_ledger_keep_first BEFORE UPDATE ON weir_ledger
  FOR EACH ROW EXECUTE FUNCTION weir_ledger_keep_first();

-- The rows to sum: by client, meter and the four members of the billing period.
CREATE VIEW weir_usage AS
  SELECT * FROM weir_ledger WHERE record_type <> 'CLOSE';

-- How far each partition is closed. A period is complete when the least value of all partitions is
-- at or after its end, and this view has as many rows as the topic has partitions.
CREATE VIEW weir_closed_through AS
  SELECT input_partition, max(closed_through_ms) AS closed_through_ms
  FROM weir_ledger WHERE record_type = 'CLOSE' GROUP BY input_partition;
