#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bills from weir.usage.ledger.v1: `follow` keeps its rows, `invoice` bills a period, `void` takes it back.

All state is one SQLite file. Its rows, the next offset of each partition and how far each partition
is closed change in one transaction, so the job may be stopped, or killed, at any moment.
Needs Python 3.9 and confluent-kafka (Debian: python3-confluent-kafka; pip: confluent-kafka).
"""
import argparse
import decimal
import hashlib
import json
import logging
import os
import sqlite3
import sys
from contextlib import contextmanager
from datetime import date, datetime, time, timezone
from decimal import Decimal
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from zoneinfo import ZoneInfo

try:
    from confluent_kafka import (
        OFFSET_BEGINNING,
        Consumer,
        KafkaError,
        KafkaException,
        TopicPartition,
    )
except ImportError:
    sys.exit(
        f"billing.py: {sys.executable} lacks confluent_kafka: pip install confluent-kafka, or in "
        "Debian apt install python3-confluent-kafka and run it with /usr/bin/python3"
    )

TOPIC = "weir.usage.ledger.v1"
NOT_READY = 3
DAY_MS = 86_400_000
LARGEST = 2**63 - 1  # of SQLite's integers
EXACT = decimal.Context(prec=200, traps=[decimal.Inexact, decimal.InvalidOperation])  # or an error
SCHEMA = """
CREATE TABLE IF NOT EXISTS cluster (id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS partitions (
  number INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL, closed_through_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS last_records (
  number INTEGER PRIMARY KEY, offset INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL,
  digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS last_closes (number INTEGER PRIMARY KEY, boundary_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS periods (
  zone TEXT NOT NULL, name TEXT NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL,
  PRIMARY KEY (zone, name, start_ms, end_ms));
CREATE TABLE IF NOT EXISTS skipped (
  number INTEGER NOT NULL, offset INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (number, offset));
CREATE TABLE IF NOT EXISTS gaps (
  number INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,
  PRIMARY KEY (number, to_ms));
CREATE TABLE IF NOT EXISTS invoices (
  number INTEGER PRIMARY KEY, client TEXT NOT NULL, from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL, prices TEXT NOT NULL, text TEXT NOT NULL, voided_ms INTEGER);
CREATE TABLE IF NOT EXISTS usage (
  record_id TEXT PRIMARY KEY, client TEXT NOT NULL, meter TEXT NOT NULL, endpoint TEXT NOT NULL,
  unit TEXT NOT NULL, window_start_ms INTEGER NOT NULL, window_end_ms INTEGER NOT NULL,
  revision INTEGER NOT NULL, reason TEXT, quantity INTEGER NOT NULL, complete INTEGER NOT NULL,
  invoice INTEGER REFERENCES invoices);
CREATE INDEX IF NOT EXISTS usage_of_client ON usage (client, window_start_ms);
"""


class Refusal(Exception):
    """Ends the job with an exit status and a sentence."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status = status


def open_state(path):
    db = sqlite3.connect(path, timeout=60, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.executescript(SCHEMA)
    return db


@contextmanager
def transaction(db):
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # after some errors, SQLite has rolled back by itself
            db.execute("ROLLBACK")
        raise


# ---- follow


class Outage:
    """Reports once that Kafka is unavailable, and that it is back, in place of its library's own lines."""

    def __init__(self, kafka):
        self.kafka = kafka
        self.lasts = False

    def heard(self, error):
        # one broker may be unavailable while others answer: the library also reports when all are
        if error.code() != KafkaError._TRANSPORT and not self.lasts:
            self.lasts = True
            warn(f"Kafka does not answer at {self.kafka}: {error.str()}; it is tried again")

    def over(self):
        if self.lasts:
            self.lasts = False
            warn("Kafka answers again")


def follow(db, options):
    outage = Outage(options.kafka)
    consumer = new_consumer(options, outage)
    try:
        places = starting_places(db, consumer, options, outage)
        consumer.assign(places)
        skipped = read(db, consumer, outage, len(places), options.until_end)
    finally:
        consumer.close()
    if skipped:
        raise Refusal(
            1,
            f"{skipped} records of the ledger were skipped, each named above: find out what wrote "
            "them. All other rows are kept",
        )


def new_consumer(options, outage):
    return Consumer(
        {
            "bootstrap.servers": options.kafka,
            "group.id": "weir-billing",  # the library wants a name; nothing is committed under it
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",  # rows that expired before they were read are reported, not skipped
            "enable.partition.eof": True,
            "error_cb": outage.heard,
        },
        logger=logging.Logger("kafka", logging.CRITICAL + 1),
    )


def starting_places(db, consumer, options, outage):
    """Where to read on in each partition: by SQLite, never by what a consumer group remembers."""
    metadata = first_answer(consumer, options, outage)
    topic = metadata.topics[TOPIC]
    if topic.error is not None:
        raise KafkaException(topic.error)
    known = db.execute("SELECT id FROM cluster").fetchone()
    if known and known["id"] != metadata.cluster_id and not options.from_beginning:
        raise Refusal(
            2,
            "this --db was filled from another Kafka cluster, so its offsets mean nothing here; "
            "take another file, or --from-beginning if the ledger was moved or restored",
        )
    recreated = not options.from_beginning and is_recreated(db, options, outage, topic.partitions)
    if recreated:
        warn(
            "the ledger does not have the record that was read last, so the topic was recreated: it "
            "is read from its beginning, and rows that are known stay as they are"
        )
    with transaction(db):
        db.execute("DELETE FROM cluster")
        db.execute("INSERT INTO cluster VALUES (?)", (metadata.cluster_id,))
        db.executemany(
            "INSERT OR IGNORE INTO partitions VALUES (?, 0, 0)", [(p,) for p in topic.partitions]
        )
        if recreated or options.from_beginning:
            # closed_through_ms stays, since the rows that were read before are kept
            db.execute("UPDATE partitions SET next_offset = 0")
            db.execute("DELETE FROM last_records")
            db.execute("DELETE FROM skipped")
            db.execute("INSERT OR REPLACE INTO last_closes SELECT number, 0 FROM partitions")
            numbers = ",".join(str(number) for number in topic.partitions)
            db.execute(f"DELETE FROM partitions WHERE number NOT IN ({numbers})")
    return [
        TopicPartition(TOPIC, row["number"], row["next_offset"] or OFFSET_BEGINNING)
        for row in db.execute("SELECT number, next_offset FROM partitions")
    ]


def first_answer(consumer, options, outage):
    """What Kafka says of the ledger. Waits while Kafka is unavailable; with --until-end for 30 s."""
    tries = 0
    while True:
        try:
            metadata = consumer.list_topics(TOPIC, timeout=10)
            outage.over()
            return metadata
        except KafkaException as failure:
            error = failure.args[0]
            if error.code() not in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
                raise
            tries += 1
            if options.until_end and tries == 3:
                raise Refusal(1, "Kafka has not answered for 30 s; nothing was read") from None
            outage.heard(KafkaError(KafkaError._ALL_BROKERS_DOWN, error.str()))


def is_recreated(db, options, outage, partitions):
    """Whether a partition no longer has the last record that was read at its offset.

    A topic's id (KIP-516) would show the same, but not every version of the library returns it.
    """
    last = {row["number"]: row for row in db.execute("SELECT * FROM last_records")}
    if not last:
        return False
    if not set(last) <= set(partitions):
        return True
    consumer = new_consumer(options, outage)
    try:
        for number, row in last.items():
            first, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, number), timeout=30)
            if end <= row["offset"] or first == row["offset"] + 1:
                return True  # or the record has expired: reading the rest again does no harm
            if first > row["offset"]:
                return False  # rows have expired unread: the reader stops with an error
        consumer.assign([TopicPartition(TOPIC, n, row["offset"]) for n, row in last.items()])
        while last:
            for message in consumer.consume(500, timeout=1.0):
                row = last.pop(message.partition(), None)
                if row is None:
                    continue
                if message.error() is not None:
                    if message.error().code() == KafkaError._PARTITION_EOF:
                        return True
                    raise KafkaException(message.error())
                if identity(message) != (row["offset"], row["timestamp_ms"], row["digest"]):
                    return True
        return False
    finally:
        consumer.close()


def identity(message):
    digest = hashlib.sha256(message.value() or b"").hexdigest()
    return message.offset(), message.timestamp()[1], digest


def read(db, consumer, outage, partitions, until_end):
    """Keeps the rows that arrive. Returns the number of skipped records."""
    at_end = set()
    skipped = 0
    while not until_end or len(at_end) < partitions:
        messages = []
        for message in consumer.consume(500, timeout=1.0):
            outage.over()
            if message.error() is None:
                messages.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
            else:
                raise KafkaException(message.error())
        if messages:
            skipped += keep(db, messages)
            closed = db.execute("SELECT min(closed_through_ms) FROM partitions").fetchone()[0]
            print(f"kept {len(messages)} more records; closed through {utc(closed)}", flush=True)
    return skipped


def keep(db, messages):
    skipped = []
    last = {}
    with transaction(db):  # rows, closings and offsets: all of them, or none
        for message in messages:
            try:
                row = known(decoded(message.value()))
                if row["record_type"] == "CLOSE":
                    keep_close(db, message.partition(), row)
                else:
                    keep_usage(db, row)
            except Unreadable as reason:
                skipped.append((message.partition(), message.offset(), str(reason)))
            last[message.partition()] = message
        db.executemany("INSERT OR REPLACE INTO skipped VALUES (?, ?, ?)", skipped)
        for partition, message in last.items():
            db.execute(
                "UPDATE partitions SET next_offset = ? WHERE number = ?",
                (message.offset() + 1, partition),
            )
            db.execute(
                "INSERT OR REPLACE INTO last_records VALUES (?, ?, ?, ?)",
                (partition, *identity(message)),
            )
    for partition, offset, reason in skipped:
        warn(f"{TOPIC} partition {partition} offset {offset} is skipped: it is {reason}")
    return len(skipped)


class Unreadable(Exception):
    """A record is no row of the ledger."""


MEMBERS = {
    "CLOSE": {"closed_through_ms": int, "complete": bool},
    "FINAL": {
        "record_id": str, "client": str, "meter": str, "endpoint": str, "unit": str,
        "window_start_ms": int, "window_end_ms": int, "revision": int, "quantity": int,
        "complete": bool,
    },
}  # fmt: skip
CALENDAR = {
    "billing_zone": str, "billing_period": str, "billing_period_start_ms": int,
    "billing_period_end_ms": int,
}  # fmt: skip
MEMBERS["ADJUSTMENT"] = {**MEMBERS["FINAL"], "reason": str}


def decoded(value):
    try:
        row = json.loads(value)
    except (TypeError, ValueError, RecursionError) as reason:
        raise Unreadable(f"no JSON: {reason}") from None
    if not isinstance(row, dict) or type(row.get("schema_version")) is not int:
        raise Unreadable("no object with a schema_version")
    if not isinstance(row.get("record_type"), str):
        raise Unreadable("a row without a record_type")
    return row


def known(row):
    members = MEMBERS.get(row["record_type"])
    if row["schema_version"] not in (1, 2) or members is None:
        raise Refusal(1, f"a row that this job does not know: {row}")
    if row["schema_version"] == 2:
        members = {**members, **CALENDAR}
    for member, kind in members.items():
        if type(row.get(member)) is not kind:
            raise Unreadable(f"a row whose {member} is missing or wrong")
        if kind is str and not is_text(row[member]):
            raise Unreadable(f"a row whose {member} is no text")
    if any(isinstance(value, int) and not -LARGEST <= value <= LARGEST for value in row.values()):
        raise Refusal(
            1,
            "a row has a number that SQLite cannot hold, and Weir does not write; it is not kept, "
            f"and nothing after it is read. Find out what wrote it: {row}",
        )
    return row


def is_text(value):
    """Whether UTF-8 has it: JSON may have half of a pair of surrogates, which SQLite refuses."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def keep_close(db, partition, row):
    """A CLOSE follows all rows of windows that end at its boundary or earlier."""
    boundary = row["closed_through_ms"]
    if not row["complete"]:  # calls of any client may be missing in the windows it closes
        db.execute(
            "INSERT OR IGNORE INTO gaps"
            " SELECT number, from_ms, ? FROM (SELECT p.number,"
            " coalesce(c.boundary_ms, p.closed_through_ms) AS from_ms"
            " FROM partitions p LEFT JOIN last_closes c USING (number) WHERE p.number = ?)"
            " WHERE from_ms < ?",
            (boundary, partition, boundary),
        )
    # a recreated topic may lack the rows between what was closed before and its first CLOSE
    missing = db.execute(
        "INSERT OR IGNORE INTO gaps SELECT number, closed_through_ms, ? FROM partitions"
        " JOIN last_closes USING (number) WHERE number = ? AND boundary_ms = 0"
        " AND closed_through_ms BETWEEN 1 AND ?",
        (boundary, partition, boundary - 1),
    )
    if missing.rowcount:
        warn(
            f"rows before {utc(boundary)} may be missing in partition {partition}, and invoices say "
            "so: were the aggregators not reset? See \"The ledger topic is lost\" in "
            "docs/operate/recovery.md"
        )
    db.execute(
        "INSERT INTO last_closes VALUES (?, ?) ON CONFLICT (number)"
        " DO UPDATE SET boundary_ms = max(boundary_ms, excluded.boundary_ms)",
        (partition, boundary),
    )
    db.execute(
        "UPDATE partitions SET closed_through_ms = max(closed_through_ms, ?) WHERE number = ?",
        (boundary, partition),
    )


def keep_usage(db, row):
    """Keeps a row unless its record_id is known: a row may be read again, and may be written again."""
    values = [row[name] for name in ("record_id", "client", "meter", "endpoint", "unit")]
    values += [row[name] for name in ("window_start_ms", "window_end_ms", "revision")]
    values += [row.get("reason"), row["quantity"], row["complete"]]
    added = db.execute(
        "INSERT OR IGNORE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", values
    )
    if row["schema_version"] == 2:
        names = ("billing_zone", "billing_period", "billing_period_start_ms", "billing_period_end_ms")
        db.execute(
            "INSERT OR IGNORE INTO periods VALUES (?, ?, ?, ?)", [row[name] for name in names]
        )
    if added.rowcount == 0:
        before = db.execute(
            "SELECT quantity FROM usage WHERE record_id = ?", (row["record_id"],)
        ).fetchone()
        if before["quantity"] != row["quantity"]:
            warn(f"{row['record_id']} said {before['quantity']}, which is kept, and now says {row}")


# ---- invoice


def invoice(db, options):
    from_ms, to_ms = moment_ms(options.start, options.tz), moment_ms(options.end, options.tz)
    if to_ms <= from_ms:
        raise Refusal(2, "--to must be after --from")
    refuse_other_zone_data(db, options, from_ms, to_ms)
    with transaction(db):
        number, text = invoice_of(db, options, from_ms, to_ms)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        leave_output()
        if number is None:
            raise Refusal(1, "the draft was not printed to its end") from None
        raise Refusal(1, f"invoice {number} is issued; ask again to print it") from None
    if number is None:
        warn("this is a draft: --issue issues it")


def void(db, options):
    """Takes an invoice back. Its number is not used again; its rows are on no invoice any more."""
    with transaction(db):
        issued = db.execute("SELECT * FROM invoices WHERE number = ?", (options.number,)).fetchone()
        if issued is None:
            raise Refusal(2, f"there is no invoice {options.number}")
        if issued["voided_ms"] is not None:
            raise Refusal(2, f"invoice {options.number} is void since {utc(issued['voided_ms'])}")
        now_ms = int(datetime.now(timezone.utc).timestamp() * 1000)
        db.execute(
            "UPDATE invoices SET voided_ms = ? WHERE number = ?", (now_ms, options.number)
        )
        rows = db.execute(
            "UPDATE usage SET invoice = NULL WHERE invoice = ?", (options.number,)
        ).rowcount
    print(
        f"invoice {options.number} of {issued['client']} is void; its {rows} rows of the ledger are "
        "on no invoice: invoice the period again",
        flush=True,
    )


def refuse_other_zone_data(db, options, from_ms, to_ms):
    """Refuses if the time zone data of Weir's processes and of this machine differ."""
    for row in db.execute(
        "SELECT * FROM periods WHERE zone = ? AND start_ms < ? AND end_ms > ?",
        (options.tz, to_ms + DAY_MS, from_ms - DAY_MS),
    ):
        refuse_other_time(options.tz, row["name"], row["start_ms"], "in the ledger")
    if not options.reports:
        return
    for text, member in ((options.start, "from"), (options.end, "to")):
        if is_date(text):
            refuse_other_time(options.tz, text, reported(options, member), "in Weir's reports")


def refuse_other_time(tz, day, there_ms, where):
    here_ms = moment_ms(day, tz)
    if here_ms != there_ms:
        raise Refusal(
            2,
            f"the time zone data of this machine and of Weir differ: {day} in {tz} begins at "
            f"{utc(here_ms)} here, and at {utc(there_ms)} {where}. Update tzdata here, or Weir's JDK "
            "(zone_data in GET /health/ready)",
        )


def reported(options, member):
    """Returns when a date begins in the aggregator's time zone data, from a report."""
    query = {"client": options.client, "tz": options.tz, "window": "total", "limit": 1}
    query |= {"from": options.start, "to": options.end}
    url = f"{options.reports.rstrip('/')}/v1/usage?{urlencode(query)}"
    request = Request(url)
    if os.environ.get("WEIR_TOKEN"):
        request.add_header("Authorization", f"Bearer {os.environ['WEIR_TOKEN']}")
    try:
        with urlopen(request, timeout=30) as answer:
            moment = json.load(answer)[member]
        return int(datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() * 1000)
    except (OSError, ValueError, KeyError) as failure:
        raise Refusal(1, f"--reports {url}: {failure}") from failure


def invoice_of(db, options, from_ms, to_ms):
    """Number and text of the invoice of a period: the one that was issued, or a new one.

    A draft has no number.
    """
    prices = dict(options.price)
    issued = db.execute(
        "SELECT * FROM invoices WHERE voided_ms IS NULL AND client = ? AND from_ms < ? AND to_ms > ?",
        (options.client, to_ms, from_ms),
    ).fetchone()
    if issued is None:
        refuse_unless_ready(db, options, from_ms, to_ms)
        return new_invoice(db, options, prices, from_ms, to_ms)
    if (issued["from_ms"], issued["to_ms"]) != (from_ms, to_ms):
        raise Refusal(2, f"the period overlaps invoice {issued['number']} of this client")
    if prices and prices != read_prices(issued):
        raise Refusal(
            2, f"invoice {issued['number']} was issued with the prices {issued['prices']}; it stands"
        )
    return issued["number"], issued["text"]


def refuse_unless_ready(db, options, from_ms, to_ms):
    # windows are as long for one client as for the other, and this one may have no rows yet
    for (ms,) in db.execute("SELECT DISTINCT window_end_ms - window_start_ms FROM usage"):
        if from_ms % ms or to_ms % ms:
            raise Refusal(
                2,
                f"a window of the ledger (of {ms // 1000} s) must begin at --from and at --to; "
                "for the midnights of a zone WEIR_WINDOW must divide its offset from UTC",
            )
    partitions = db.execute("SELECT * FROM partitions").fetchall()
    if not partitions:
        raise Refusal(NOT_READY, "nothing was read from the ledger yet: run `follow` first")
    for row in partitions:
        if row["closed_through_ms"] < to_ms:
            raise Refusal(
                NOT_READY,
                f"not ready: partition {row['number']} is closed through "
                f"{utc(row['closed_through_ms'])}, and the period ends at {utc(to_ms)}; "
                "let `follow` read on, and try again",
            )


def new_invoice(db, options, prices, from_ms, to_ms):
    period = (options.client, from_ms, to_ms)
    # rows on another invoice came late, after this period's own invoice, which is void now
    usage = {}
    for row in db.execute(
        "SELECT meter, unit, quantity FROM usage"
        " WHERE client = ? AND window_start_ms >= ? AND window_start_ms < ? AND invoice IS NULL"
        " ORDER BY meter",
        period,
    ):  # added up here, since SQLite's sum() ends at 2^63 - 1
        meter = usage.setdefault(row["meter"], {**row, "quantity": 0})
        meter["quantity"] += row["quantity"]
    # rows of earlier periods that came after their invoice had been issued
    adjustments = db.execute(
        "SELECT u.*, i.number, i.prices FROM usage u JOIN invoices i ON i.client = u.client"
        " AND i.voided_ms IS NULL"
        " AND i.from_ms <= u.window_start_ms AND u.window_start_ms < i.to_ms"
        " WHERE u.client = ? AND u.invoice IS NULL AND u.window_end_ms <= ?"
        " ORDER BY u.window_start_ms, u.meter, u.endpoint, u.revision",
        period[:2],
    ).fetchall()
    number = db.execute("SELECT coalesce(max(number), 0) + 1 FROM invoices").fetchone()[0]
    lines = [("line", "quantity", "unit", "price", "amount")]
    lines += [line(row["meter"], row, prices, prices) for row in usage.values()]
    lines += [line(adjustment(row, options.tz), row, read_prices(row), prices) for row in adjustments]
    if len(lines) == 1:
        lines = [("no usage",)]
        if not db.execute("SELECT 1 FROM usage WHERE client = ?", period[:1]).fetchone():
            warn(f"no row of a client {options.client!r} was read yet: is that its name?")
    elif prices:
        total = sum((Decimal(amount) for *_, amount in lines[1:]), Decimal())
        lines.append(("total", "", "", "", f"{total:f}"))
    heading = f"invoice {number}" if options.issue else "DRAFT"
    text = f"{heading}: {options.client}, {options.start} to {options.end} ({options.tz})\n"
    text += table(lines) + incomplete(db, period, adjustments, options.tz)
    if options.issue:
        db.execute(
            "INSERT INTO invoices VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (number, *period, json.dumps({m: str(p) for m, p in prices.items()}), text),
        )
        db.execute(
            "UPDATE usage SET invoice = ?"
            " WHERE client = ? AND window_start_ms >= ? AND window_start_ms < ? AND invoice IS NULL",
            (number, *period),
        )
        db.executemany(
            "UPDATE usage SET invoice = ? WHERE record_id = ?",
            [(number, row["record_id"]) for row in adjustments],
        )
    warn_of_rows_on_no_invoice(db, options.client, from_ms, {r["record_id"] for r in adjustments})
    return number if options.issue else None, text


def line(name, row, prices, otherwise):
    """A line of the invoice; an adjustment is priced as the invoice that it adjusts."""
    price = prices.get(row["meter"], otherwise.get(row["meter"]))
    if price is None and (prices or otherwise):
        if row["quantity"] == 0:  # of calls that were denied, say: it costs nothing at any price
            return name, "0", row["unit"], "-", "0"
        raise Refusal(2, f"no price for the meter {row['meter']}: give --price {row['meter']}=AMOUNT")
    if price is None:
        return name, str(row["quantity"]), row["unit"], "-", "-"
    amount = row["quantity"] * price
    return name, str(row["quantity"]), row["unit"], f"{price:f}", f"{amount:f}"


def adjustment(row, tz):
    window = f"{local(row['window_start_ms'], tz)}/{local(row['window_end_ms'], tz)}"
    return f"{row['meter']} {row['reason'] or 'FINAL'} {window} {row['endpoint']} (invoice {row['number']})"


def incomplete(db, period, adjustments, tz):
    rows = db.execute(
        "SELECT window_start_ms, complete FROM usage"
        " WHERE client = ? AND window_start_ms >= ? AND window_start_ms < ?",
        period,
    ).fetchall()
    text = ""
    windows = sorted({r["window_start_ms"] for r in rows + adjustments if not r["complete"]})
    if windows:
        text += (
            f"\nNOT COMPLETE: calls may be missing in {len(windows)} windows, which begin from "
            f"{local(windows[0], tz)} to {local(windows[-1], tz)}; what is found comes as adjustments"
        )
    gaps = db.execute(
        "SELECT count(*), min(from_ms), max(to_ms) FROM gaps WHERE from_ms < ? AND to_ms > ?",
        (period[2], period[1]),
    ).fetchone()
    if gaps[0]:  # a client whose calls are all missing has no row that could say so
        text += (
            "\nNOT COMPLETE: calls of any client may be missing between "
            f"{local(max(gaps[1], period[1]), tz)} and {local(min(gaps[2], period[2]), tz)}; "
            "GET /v1/usage says whether calls of this client may be"
        )
    return text


def warn_of_rows_on_no_invoice(db, client, from_ms, booked):
    rows = db.execute(
        "SELECT record_id FROM usage WHERE client = ? AND window_start_ms < ? AND invoice IS NULL",
        (client, from_ms),
    ).fetchall()
    left = [row for row in rows if row["record_id"] not in booked]
    if left:
        warn(f"rows before --from, of periods that have no invoice: {len(left)}")
    for number, offset, reason in db.execute("SELECT * FROM skipped ORDER BY number, offset"):
        warn(f"{TOPIC} partition {number} offset {offset} is on no invoice: it is {reason}")


# ---- words and numbers


def read_prices(row):
    return {meter: Decimal(price) for meter, price in json.loads(row["prices"]).items()}


def table(lines):
    widths = [max(len(cell) for cell in column) for column in zip(*lines)]
    return "\n".join(
        "  ".join([first.ljust(widths[0])] + [c.rjust(w) for c, w in zip(rest, widths[1:])])
        for first, *rest in lines
    )


def is_date(text):
    return len(text) == len("2026-11-01")


def moment_ms(text, tz):
    """The first moment of a date, or a time of day, in the client's calendar."""
    try:
        if is_date(text):
            when = datetime.combine(date.fromisoformat(text), time())
        else:
            when = datetime.fromisoformat(text)
        return int((when if when.tzinfo else when.replace(tzinfo=ZoneInfo(tz))).timestamp()) * 1000
    except (ValueError, LookupError) as wrong:
        raise Refusal(2, f"{text} in {tz} is no time: {wrong}") from wrong


def utc(ms):
    if ms == 0:
        return "no time yet"
    try:
        return datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms, which is no date"


def local(ms, tz):
    return datetime.fromtimestamp(ms / 1000, ZoneInfo(tz)).isoformat()


def leave_output():
    """The reader has left: the interpreter must not write again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(sentence):
    print(f"billing: {sentence}", file=sys.stderr)


def price_of(text):
    meter, separator, amount = text.rpartition("=")
    try:
        price = Decimal(amount)
    except decimal.InvalidOperation:
        separator = ""
    if not separator or not meter or not price.is_finite() or price < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not METER=AMOUNT, such as calls=0.002")
    return meter, price


def arguments():
    parser = argparse.ArgumentParser(
        description="Bills from Weir's ledger.",
        epilog="Exit status: 0; 1 Kafka, the ledger, --db or the output failed; 2 a wrong option, "
        "or what was issued stands against it; 3 the period is not closed yet.",
    )
    parser.add_argument("--db", default="billing.db", help="the SQLite file (billing.db)")
    commands = parser.add_subparsers(dest="command", required=True)
    reading = commands.add_parser("follow", help="read the ledger into --db until Ctrl-C")
    reading.add_argument(
        "--kafka",
        default=os.environ.get("WEIR_KAFKA") or "localhost:9092",
        help="bootstrap servers (WEIR_KAFKA, else localhost:9092)",
    )
    reading.add_argument("--until-end", action="store_true", help="read what is there, then end")
    reading.add_argument(
        "--from-beginning",
        action="store_true",
        help="read everything again, as after the ledger was restored; known rows stay as they are",
    )
    billing = commands.add_parser(
        "invoice", help="print a draft of the invoice of a period, or the issued one"
    )
    billing.add_argument("--client", required=True)
    when = "a date, or date and time, in --tz"
    billing.add_argument("--from", dest="start", required=True, metavar="DATE", help=when)
    billing.add_argument(
        "--to", dest="end", required=True, metavar="DATE", help=when + "; not included"
    )
    billing.add_argument("--tz", required=True, metavar="ZONE", help="such as Asia/Kolkata")
    billing.add_argument(
        "--price",
        type=price_of,
        action="append",
        default=[],
        metavar="METER=AMOUNT",
        help="price of a unit; one for each meter, or none for quantities alone",
    )
    billing.add_argument(
        "--reports",
        default=os.environ.get("WEIR_REPORTS"),
        metavar="URL",
        help="an aggregator, such as http://localhost:8081 (WEIR_REPORTS): the invoice is refused "
        "when midnights there differ from those here; with tokens set WEIR_TOKEN",
    )
    billing.add_argument(
        "--issue", action="store_true", help="issue it: its rows are then on no other invoice"
    )
    voiding = commands.add_parser("void", help="void an invoice; its number is not used again")
    voiding.add_argument("number", type=int, metavar="NUMBER", help="of the invoice")
    return parser.parse_args()


def main():
    decimal.setcontext(EXACT)
    options = arguments()
    try:
        db = open_state(options.db)
        {"follow": follow, "invoice": invoice, "void": void}[options.command](db, options)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        leave_output()
        warn("the reader of the output has left; what was read from the ledger is kept")
        return 1
    except Refusal as refusal:
        warn(refusal)
        return refusal.status
    except KafkaException as failure:
        error = failure.args[0]
        warn(f"Kafka: {error.str()}")
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            warn("the next row to be read is not in the ledger any more: see docs/billing.md")
        return 1
    except sqlite3.Error as failure:
        warn(
            f"--db {options.db}: {failure}; what was under way is rolled back. See to it that the "
            "file can be written and its disk has room, then run this again: it goes on from there"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
