// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import com.google.protobuf.CodedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A batch of one call whose numbers may be invalid. The concatenated bytes of several batches are a
 * batch, too. The numbers have the names of the fields in {@code weir-calls.proto}.
 */
public final class RawCall {
  /** Fields of a call. */
  private static final Map<String, Integer> CALL =
      Map.of("client", 4, "cost", 10, "allowed", 11, "decided_by", 12, "id_from_caller", 16);

  /** Fields of a call that may be negative. */
  private static final Map<String, Integer> SIGNED_CALL =
      Map.of("policies_version", 13, "decided_at_ms", 14);

  private static final Map<String, Integer> SETTLEMENT =
      Map.of("actual_cost", 2, "settled_at_ms", 3);

  private static final Map<String, Integer> STAMP =
      Map.of("epoch", 23, "charged", 24, "version", 25, "full_at_us", 26);

  private static final Map<String, Integer> LIMIT =
      Map.of(
          "algorithm",
          1,
          "capacity",
          2,
          "refill_tokens",
          3,
          "refill_period_us",
          4,
          "ends_at_us",
          5);

  private final String id;
  private final Map<String, Long> numbers = new HashMap<>();
  private final List<Charge> charges = new ArrayList<>();
  private final List<String> texts;
  private final Map<Integer, Long> extraEntries = new HashMap<>();
  private byte[] billing = {};

  private record Charge(String bucket, Map<String, Long> numbers) {}

  /** Creates an allowed call of cost 3, whose client is the first text of the dictionary. */
  public RawCall(String id, String client, String endpoint, long decidedAtEpochMillis) {
    this.id = id;
    this.texts = List.of(client, endpoint, "calls");
    with("client", 1).with("cost", 3).with("allowed", 1).with("decided_by", 1);
    with("policies_version", 1).with("decided_at_ms", decidedAtEpochMillis);
  }

  /** Changes a number of the call, or of its settlement. */
  public RawCall with(String member, long number) {
    numbers.put(member, number);
    return this;
  }

  /**
   * Adds a charge. The charge has a stamp if {@code epoch} is among its numbers, and a limit if
   * {@code capacity} is.
   */
  public RawCall charge(String bucket, Map<String, Long> chargeNumbers) {
    charges.add(new Charge(bucket, chargeNumbers));
    return this;
  }

  /** Adds a billing period. The period may begin after the call, or end before it. */
  public RawCall billing(String name, String zone, long startEpochMillis, long endEpochMillis) {
    billing =
        message(
            period -> {
              period.writeString(1, name);
              period.writeSInt64(2, startEpochMillis);
              period.writeSInt64(3, endEpochMillis);
              period.writeString(4, zone);
            });
    return this;
  }

  /** Adds an entry to the column of a field, which then has more entries than the other columns. */
  public RawCall extraEntry(int field, long number) {
    extraEntries.put(field, number);
    return this;
  }

  /** Returns the batch. */
  public byte[] toBytes() {
    return message(batch -> batch.writeByteArray(1, message(this::write)));
  }

  private void write(CodedOutputStream block) throws IOException {
    for (String text : texts) {
      block.writeString(1, text);
    }
    for (Charge charge : charges) {
      block.writeString(1, charge.bucket);
    }
    writeNumbers(block, CALL, numbers);
    block.writeUInt32(5, 2);
    block.writeUInt32(6, 3);
    if (billing.length > 0) {
      block.writeByteArray(3, billing);
      block.writeUInt32(9, 1);
    }
    writeSigned(block, SIGNED_CALL, numbers);
    block.writeString(15, id);
    block.writeUInt64(18, numbers.getOrDefault("charges", (long) charges.size()));
    for (var entry : extraEntries.entrySet()) {
      block.writeUInt64(entry.getKey(), entry.getValue());
    }
    int limits = 0;
    for (int i = 0; i < charges.size(); i++) {
      Map<String, Long> charge = charges.get(i).numbers;
      boolean hasLimit = charge.containsKey("capacity");
      if (hasLimit) {
        block.writeByteArray(2, message(limit -> writeNumbers(limit, LIMIT, charge)));
        limits++;
      }
      block.writeUInt32(19, texts.size() + i + 1);
      block.writeUInt64(20, charge.getOrDefault("charge_cost", 0L));
      block.writeUInt32(21, hasLimit ? limits : 0);
      block.writeBool(22, !charge.containsKey("epoch"));
      writeSigned(block, STAMP, charge);
    }
    if (numbers.containsKey("settled_at_ms")) {
      block.writeByteArray(27, message(settled -> writeNumbers(settled, SETTLEMENT, numbers)));
    }
  }

  private static void writeNumbers(
      CodedOutputStream out, Map<String, Integer> fields, Map<String, Long> numbers)
      throws IOException {
    for (var field : fields.entrySet()) {
      out.writeUInt64(field.getValue(), numbers.getOrDefault(field.getKey(), 0L));
    }
  }

  private static void writeSigned(
      CodedOutputStream out, Map<String, Integer> fields, Map<String, Long> numbers)
      throws IOException {
    for (var field : fields.entrySet()) {
      out.writeSInt64(field.getValue(), numbers.getOrDefault(field.getKey(), 0L));
    }
  }

  private interface Content {
    void writeTo(CodedOutputStream out) throws IOException;
  }

  private static byte[] message(Content content) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      content.writeTo(out);
      out.flush();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }

  /** Returns the concatenation of batches, which has all their calls in this order. */
  public static byte[] concat(byte[]... batches) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] batch : batches) {
      all.writeBytes(batch);
    }
    return all.toByteArray();
  }
}
