// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.MalformedRecordException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the value of a record of {@code weir.calls.v1}. Each call of a batch is a line, numbered
 * from 1. An instance may be used for many batches. Not thread-safe.
 */
public final class CallBatchReader {
  private final CallColumns columns = new CallColumns();
  private final BlockDecoder decoder = new BlockDecoder(columns);

  /** Creates a reader that has no lines until it reads a batch. */
  public CallBatchReader() {}

  /**
   * Returns the calls of a batch.
   *
   * @throws MalformedRecordException if the value or a call is malformed
   */
  public static List<CallEvent> decode(byte[] value) throws MalformedRecordException {
    CallBatchReader reader = new CallBatchReader();
    reader.read(value);
    List<CallEvent> calls = new ArrayList<>();
    for (int line = 1; line <= reader.count(); line++) {
      calls.add(reader.call(line));
    }
    return calls;
  }

  /**
   * Reads a batch, which replaces the previous batch.
   *
   * @param value the batch; an empty value has no lines
   * @return the number of lines
   * @throws MalformedRecordException if the value is not a batch; this reader then has no lines
   */
  public int read(byte[] value) throws MalformedRecordException {
    boolean isRead = false;
    try {
      decoder.decode(value);
      isRead = true;
    } finally {
      if (!isRead) {
        columns.clear();
      }
    }
    return columns.calls();
  }

  /** Returns the number of lines. */
  public int count() {
    return columns.calls();
  }

  /** Returns the client of a line; null if the line has no client and is malformed. */
  public @Nullable String client(int line) {
    return columns.texts.get(columns.client.getInt(line - 1));
  }

  /** Returns the id of a line. The id may be invalid, for example too long. */
  public String id(int line) {
    String id = columns.ids.get(line - 1);
    return id != null
        ? id
        : new UUID(columns.idHalves.get(2 * line - 2), columns.idHalves.get(2 * line - 1))
            .toString();
  }

  /**
   * Returns the call of a line.
   *
   * @throws MalformedRecordException if a member is missing or invalid; the message states the
   *     reason
   */
  public CallEvent call(int line) throws MalformedRecordException {
    int call = line - 1;
    try {
      int billing = columns.billing.getInt(call);
      int settlement = columns.settlement.getInt(call);
      return new CallEvent(
          id(line),
          columns.idFromCaller.get(call) != 0,
          text("client", columns.client, call),
          text("endpoint", columns.endpoint, call),
          text("meter", columns.meter, call),
          columns.cost.get(call),
          columns.allowed.get(call) != 0,
          DecidedByNumbers.ofNumber(columns.decidedBy.get(call)),
          columns.texts.get(columns.policy.getInt(call)),
          columns.policiesVersion.get(call),
          columns.decidedAt.get(call),
          columns.texts.get(columns.ipPrefix.getInt(call)),
          charges(call),
          settlement == 0 ? null : columns.settlements.get(settlement - 1).settlement(),
          billing == 0 ? null : columns.billings.get(billing - 1).billing());
    } catch (IllegalArgumentException badValue) {
      throw new MalformedRecordException(String.valueOf(badValue.getMessage()), badValue);
    }
  }

  private String text(String member, Column column, int index) throws MalformedRecordException {
    String text = columns.texts.get(column.getInt(index));
    if (text == null) {
      throw new MalformedRecordException(member + " is missing");
    }
    return text;
  }

  private List<Charge> charges(int call) throws MalformedRecordException {
    int count = columns.charges.getInt(call);
    int first = columns.firstCharge.getInt(call);
    if (count <= 1) {
      return count == 0 ? List.of() : List.of(charge(first));
    }
    List<Charge> charges = new ArrayList<>(count);
    for (int charge = first; charge < first + count; charge++) {
      charges.add(charge(charge));
    }
    return charges;
  }

  private Charge charge(int charge) throws MalformedRecordException {
    int limit = columns.limit.getInt(charge);
    return new Charge(
        text("charges.key", columns.bucket, charge),
        columns.chargeCost.get(charge),
        limit == 0 ? null : columns.limits.get(limit - 1).limit(),
        columns.withoutStamp.get(charge) != 0
            ? null
            : new Stamp(
                columns.epoch.get(charge),
                columns.version.get(charge),
                columns.charged.get(charge),
                columns.fullAt.get(charge)));
  }

  /**
   * Returns the digest of a line: the number that the line adds to {@code events_digest}. The
   * digest is computed from all members of the line. The order of the lines does not affect the sum
   * of the digests. If a line is missing, repeated or changed, the sum very probably differs.
   */
  public long digest(int line) {
    return columns.digest(line - 1);
  }

  /**
   * Returns a batch that contains only the given line. The line may be malformed. Its digest is the
   * same in both batches.
   */
  public byte[] only(int line) {
    return CallBatchWriter.only(columns, line - 1);
  }
}
