// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Writes calls as the value of a record of {@code weir.calls.v1}: a batch of one block. The
 * concatenation of several such values is a batch with all their calls, in this order. An instance
 * may be used for many batches. Not thread-safe.
 */
public final class CallBatchWriter {
  /** Maximum size of a call without its texts and charges, in bytes. */
  private static final int MAX_CALL_BYTES = 256;

  /** Maximum size of a charge without its texts, in bytes. */
  private static final int MAX_CHARGE_BYTES = 150;

  /** A UTF-16 unit has at most three bytes in UTF-8. */
  private static final int MAX_UTF8_BYTES = 3;

  private static final int MAX_TEXT_CHARS = BlockDecoder.MAX_ENTRY_BYTES / MAX_UTF8_BYTES;

  private final CallColumns columns = new CallColumns();
  private final BlockEncoder encoder = new BlockEncoder(columns);
  private final TextNumbers texts = new TextNumbers(columns.texts);
  private final Map<BucketLimit, Integer> limits = new HashMap<>();
  private final Map<BilledIn, Integer> billings = new HashMap<>();

  /** Creates a writer without calls. */
  public CallBatchWriter() {}

  /** Returns a batch of the given calls; an empty value if there are no calls. */
  public static byte[] encode(List<CallEvent> calls) {
    CallBatchWriter writer = new CallBatchWriter();
    calls.forEach(writer::add);
    return writer.take();
  }

  /**
   * Returns an upper bound for the number of bytes that a call adds to a batch.
   *
   * @throws IllegalArgumentException if a batch cannot hold the call
   */
  public static int bytesAtMost(CallEvent call) {
    int chars =
        call.id().length()
            + call.client().length()
            + call.endpoint().length()
            + call.meter().length()
            + length("policy", call.policy())
            + length("ip_prefix", call.ipPrefix());
    if (call.charges().size() > BlockDecoder.MAX_CHARGES) {
      throw new IllegalArgumentException(
          "a call must have at most " + BlockDecoder.MAX_CHARGES + " charges");
    }
    int bytes = MAX_CALL_BYTES;
    for (Charge charge : call.charges()) {
      BucketLimit limit = charge.limit();
      if (limit != null) {
        LimitNumbers.requireRecorded(limit);
      }
      chars += length("a bucket", charge.bucket());
      bytes += MAX_CHARGE_BYTES;
    }
    BilledIn billing = call.billing();
    if (billing != null) {
      chars += billing.period().timeZone().length() + billing.period().name().length();
      BillingPeriod before = billing.before();
      chars += before == null ? 0 : before.name().length();
    }
    return bytes + MAX_UTF8_BYTES * chars;
  }

  private static int length(String member, @Nullable String text) {
    int length = text == null ? 0 : text.length();
    if (length > MAX_TEXT_CHARS) {
      throw new IllegalArgumentException(
          member + " must have at most " + MAX_TEXT_CHARS + " characters, but has " + length);
    }
    return length;
  }

  /** Returns the number of calls that were added since the last batch was taken. */
  public int count() {
    return columns.calls();
  }

  /** Adds a call to the batch. */
  public void add(CallEvent call) {
    int index = columns.calls();
    addId(call.id());
    columns.client.add(texts.of(call.client()));
    columns.endpoint.add(texts.of(call.endpoint()));
    columns.meter.add(texts.of(call.meter()));
    columns.policy.add(number(call.policy()));
    columns.ipPrefix.add(number(call.ipPrefix()));
    BilledIn billing = call.billing();
    columns.billing.add(billing == null ? 0 : number(billing));
    columns.cost.add(call.cost());
    columns.allowed.add(call.allowed() ? 1 : 0);
    columns.decidedBy.add(DecidedByNumbers.of(call.decidedBy()));
    columns.policiesVersion.add(call.policiesVersion());
    columns.decidedAt.add(call.decidedAtEpochMillis());
    columns.idFromCaller.add(call.idFromCaller() ? 1 : 0);
    columns.charges.add(call.charges().size());
    for (Charge charge : call.charges()) {
      addCharge(charge);
    }
    CallSettlement settlement = call.settlement();
    if (settlement != null) {
      columns.settlements.add(SettlementNumbers.of(index, settlement));
    }
  }

  private void addId(String id) {
    UUID uuid = CallIds.uuid(id);
    columns.ids.add(uuid == null ? id : null);
    if (uuid != null) {
      columns.uuid.add(uuid.getMostSignificantBits());
      columns.uuid.add(uuid.getLeastSignificantBits());
    }
  }

  private void addCharge(Charge charge) {
    columns.bucket.add(texts.of(charge.bucket()));
    columns.chargeCost.add(charge.cost());
    BucketLimit limit = charge.limit();
    columns.limit.add(limit == null ? 0 : number(limit));
    Stamp stamp = charge.stamp();
    columns.withoutStamp.add(stamp == null ? 1 : 0);
    if (stamp != null) {
      columns.epoch.add(stamp.epoch());
      columns.charged.add(stamp.charged());
      columns.version.add(stamp.version());
      columns.fullAt.add(stamp.fullAtEpochMicros());
    } else {
      columns.stamps.forEach(column -> column.add(0));
    }
  }

  private int number(@Nullable String text) {
    return text == null ? 0 : texts.of(text);
  }

  private int number(BucketLimit limit) {
    return limits.computeIfAbsent(
        limit,
        added -> {
          columns.limits.add(LimitNumbers.of(added));
          return columns.limits.size();
        });
  }

  private int number(BilledIn billing) {
    return billings.computeIfAbsent(
        billing,
        added -> {
          columns.billings.add(BillingNumbers.of(added));
          return columns.billings.size();
        });
  }

  /** Returns the batch of the added calls, and removes them from this writer. */
  public byte[] take() {
    byte[] batch = columns.calls() == 0 ? new byte[0] : encoder.encode();
    columns.clear();
    texts.clear();
    limits.clear();
    billings.clear();
    return batch;
  }

  /** Returns a batch that contains only the given call of other columns, even if it is invalid. */
  static byte[] only(CallColumns from, int call) {
    CallBatchWriter writer = new CallBatchWriter();
    writer.copy(from, call);
    return writer.take();
  }

  private void copy(CallColumns from, int call) {
    String id = from.ids.get(call);
    columns.ids.add(id);
    if (id == null) {
      columns.uuid.add(from.idHalves.get(2 * call));
      columns.uuid.add(from.idHalves.get(2 * call + 1));
    }
    for (int i = 0; i < columns.ofCalls.size(); i++) {
      columns.ofCalls.get(i).add(from.ofCalls.get(i).get(call));
    }
    for (Column column : columns.textsOfCalls) {
      column.set(0, number(from.texts.get(column.getInt(0))));
    }
    int billing = columns.billing.getInt(0);
    if (billing > 0) {
      columns.billings.add(from.billings.get(billing - 1));
      columns.billing.set(0, 1);
    }
    int first = from.firstCharge.getInt(call);
    for (int charge = 0; charge < columns.charges.get(0); charge++) {
      for (int i = 0; i < columns.ofCharges.size(); i++) {
        columns.ofCharges.get(i).add(from.ofCharges.get(i).get(first + charge));
      }
      columns.bucket.set(charge, number(from.texts.get(columns.bucket.getInt(charge))));
      int limit = columns.limit.getInt(charge);
      if (limit > 0) {
        columns.limits.add(from.limits.get(limit - 1));
        columns.limit.set(charge, columns.limits.size());
      }
    }
    int settlement = from.settlement.getInt(call);
    if (settlement > 0) {
      columns.settlements.add(from.settlements.get(settlement - 1).at(0));
    }
  }
}
