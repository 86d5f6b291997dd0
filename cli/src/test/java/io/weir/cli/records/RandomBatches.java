// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;

/**
 * Generates values of {@code weir.calls.v1}, field by field, in every encoding that protobuf
 * permits. Most values are batches; most of their numbers are at the edge of a rule. Not
 * thread-safe.
 */
final class RandomBatches {
  private static final int VARINT = 0;
  private static final int FIXED64 = 1;
  private static final int PACKED = 2;
  private static final int UUID_FIELD = 17;
  private static final Set<Integer> SIGNED = Set.of(13, 14, 23, 24, 25, 26);
  private static final long MAX = (1L << 53) - 1;

  private static final List<String> TEXTS =
      List.of(
          "acme",
          "GET /a",
          "calls",
          "w1:{4:acme}:5:burst",
          "grün €😀",
          "",
          "a\u0000b",
          "a\u0085b",
          "é".repeat(128),
          "e".repeat(257),
          "01934f3c-0000-7000-8000-00000000000a",
          "01934f3c-0000-7000-8000-00000000000A");

  private static final long[] TIMES = {
    0, 1, 1_700_000_000_000L, 1_700_000_000_001L, MAX / 1_000, MAX / 1_000 + 1, -1
  };
  private static final long[] NUMBERS = {
    0, 1, 2, 10, 60, 61, 1_000_000, 60_000_000, MAX, MAX + 1, -1, Long.MIN_VALUE
  };
  private static final String[] DATES = {
    "2023-11-10", "2023-10-10", "2023-11", "2023-11-31", "+12023-11-10", ""
  };

  private final Random random;
  private boolean hasLongNumbers;

  /** The encoded fields of the block, by number. */
  private final TreeMap<Integer, Deque<byte[]>> fields = new TreeMap<>();

  RandomBatches(long seed) {
    random = new Random(seed);
  }

  /** A writer of bytes. */
  interface Content {
    void write(CodedOutputStream out) throws IOException;
  }

  static byte[] bytes(Content content) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      content.write(out);
      out.flush();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }

  /** Returns a value of one to three blocks. */
  byte[] next() {
    hasLongNumbers = true;
    return blocks();
  }

  /**
   * Returns a damaged value. The value has no varint of ten bytes, because protobuf's Java reader
   * ignores damage in the tenth byte: it reads the number as negative if the byte is 0.
   */
  byte[] nextDamaged() {
    hasLongNumbers = false;
    return damaged(blocks());
  }

  private byte[] blocks() {
    ByteArrayOutputStream value = new ByteArrayOutputStream();
    for (int blocks = 1 + random.nextInt(3); blocks > 0; blocks--) {
      byte[] block = block();
      value.writeBytes(bytes(out -> out.writeByteArray(1, block)));
      if (random.nextInt(20) == 0) {
        value.writeBytes(unknown(2 + random.nextInt(40)));
      }
    }
    return value.toByteArray();
  }

  /** Changes some bytes, or repeats or removes some. */
  private byte[] damaged(byte[] value) {
    byte[] damaged = value.clone();
    for (int changes = 1 + random.nextInt(2); changes > 0 && value.length > 0; changes--) {
      int at = random.nextInt(damaged.length);
      switch (random.nextInt(4)) {
        case 0 -> damaged[at] = (byte) random.nextInt(256);
        case 1 -> damaged[at] ^= (byte) (1 << random.nextInt(8));
        case 2 -> damaged[at] += (byte) (random.nextBoolean() ? 1 : -1);
        default -> {
          int to = random.nextInt(damaged.length);
          int from = random.nextInt(damaged.length - to);
          byte[] moved = new byte[to + damaged.length - from];
          System.arraycopy(damaged, 0, moved, 0, to);
          System.arraycopy(damaged, from, moved, to, damaged.length - from);
          damaged = moved.length == 0 ? damaged : moved;
        }
      }
    }
    return damaged;
  }

  private byte[] block() {
    fields.clear();
    int texts = 1 + random.nextInt(5);
    for (int i = 0; i < texts; i++) {
      String text = TEXTS.get(random.nextInt(i < 2 ? 5 : TEXTS.size()));
      add(1, bytes(out -> out.writeString(1, text)));
    }
    int limits = random.nextInt(3);
    for (int i = 0; i < limits; i++) {
      byte[] limit = limit();
      add(2, bytes(out -> out.writeByteArray(2, limit)));
    }
    int billings = random.nextInt(3);
    for (int i = 0; i < billings; i++) {
      byte[] periods = periods();
      add(3, bytes(out -> out.writeByteArray(3, periods)));
    }
    int calls = 1 + random.nextInt(4);
    for (int field = 4; field <= 8; field++) {
      column(field, calls, i -> random.nextInt(20) == 0 ? reference(texts) : goodText(texts));
    }
    column(9, calls, i -> reference(billings));
    column(10, calls, i -> usually(1, NUMBERS));
    column(11, calls, i -> random.nextInt(3));
    column(12, calls, i -> usually(1 + random.nextInt(7), NUMBERS));
    column(13, calls, i -> usually(random.nextInt(2), NUMBERS));
    column(14, calls, i -> i == 0 ? usually(1_700_000_000_000L, TIMES) : random.nextInt(3));
    column(16, calls, i -> random.nextInt(2));
    ids(calls);
    int[] charges = {0};
    column(
        18,
        calls,
        i -> {
          int ofCall = random.nextInt(3);
          charges[0] += ofCall;
          return ofCall;
        });
    column(19, charges[0], i -> random.nextInt(10) == 0 ? reference(texts) : goodText(texts));
    column(20, charges[0], i -> usually(1, NUMBERS));
    column(21, charges[0], i -> reference(limits));
    column(22, charges[0], i -> random.nextInt(2));
    for (int field = 23; field <= 26; field++) {
      column(field, charges[0], i -> usually(1 + random.nextInt(5), NUMBERS));
    }
    settlements(calls);
    if (random.nextInt(5) == 0) {
      int field = random.nextBoolean() ? 28 + random.nextInt(500) : 1 + random.nextInt(27);
      add(field, unknown(field));
    }
    return mixed();
  }

  /** Returns the fields in random order; the chunks of one field keep their order. */
  private byte[] mixed() {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    List<Deque<byte[]>> rest = new ArrayList<>(fields.values());
    while (!rest.isEmpty()) {
      int field = random.nextInt(rest.size());
      Deque<byte[]> chunks = rest.get(field);
      block.writeBytes(chunks.removeFirst());
      if (chunks.isEmpty()) {
        rest.remove(field);
      }
    }
    return block.toByteArray();
  }

  private void add(int field, byte[] chunk) {
    fields.computeIfAbsent(field, none -> new ArrayDeque<>()).add(chunk);
  }

  private long reference(int size) {
    return random.nextInt(300) == 0 ? size + 1L : random.nextInt(size + 1);
  }

  /** Returns the number of a text that is a name. */
  private long goodText(int texts) {
    return 1L + random.nextInt(Math.min(2, texts));
  }

  private long usually(long number, long[] others) {
    long other = others[random.nextInt(others.length)];
    return random.nextInt(30) == 0 && (other >= 0 || hasLongNumbers) ? other : number;
  }

  private byte[] limit() {
    return bytes(
        out -> {
          int algorithm = random.nextInt(12) == 0 ? random.nextInt(7) : 1 + random.nextInt(4);
          out.writeUInt64(1, algorithm);
          out.writeUInt64(2, usually(10, NUMBERS));
          out.writeUInt64(3, usually(1, NUMBERS));
          out.writeUInt64(4, usually(1_000_000, NUMBERS));
          out.writeUInt64(5, usually(1_700_000_000, NUMBERS));
          out.writeUInt64(6, usually(60_000_000, NUMBERS));
          out.writeUInt64(7, usually(4, NUMBERS));
          writeUnknown(out);
        });
  }

  private byte[] periods() {
    long start = 1_700_000_000_000L - (random.nextBoolean() ? 1_000 : 400_000_000);
    boolean hasBefore = random.nextBoolean();
    return bytes(
        out -> {
          out.writeString(1, random.nextInt(8) == 0 ? DATES[random.nextInt(6)] : DATES[0]);
          out.writeSInt64(2, usually(start, NUMBERS));
          out.writeSInt64(3, usually(1_702_578_600_000L, NUMBERS));
          out.writeString(4, random.nextInt(12) == 0 ? TEXTS.get(5) : "Asia/Kolkata");
          if (hasBefore) {
            out.writeString(5, random.nextInt(8) == 0 ? DATES[random.nextInt(6)] : DATES[1]);
            out.writeSInt64(6, usually(1_697_308_200_000L, NUMBERS));
          }
          writeUnknown(out);
        });
  }

  private void ids(int calls) {
    boolean hasTexts = random.nextBoolean();
    int uuids = hasTexts ? 0 : calls;
    for (int i = 0; hasTexts && i < calls; i++) {
      String id = random.nextInt(3) == 0 ? "" : TEXTS.get(random.nextInt(TEXTS.size()));
      uuids += id.isEmpty() ? 1 : 0;
      add(15, bytes(out -> out.writeString(15, id)));
    }
    int halves = 2 * uuids;
    if (halves > 0) {
      numbers(UUID_FIELD, halves, i -> random.nextLong());
    }
  }

  private void settlements(int calls) {
    for (int call = 0; call < calls; call++) {
      if (random.nextInt(4) == 0) {
        int index = random.nextInt(100) == 0 ? random.nextInt(6) : call;
        String position =
            new String[] {"0:n:1:2", "", "0:n:1", "0:n:1:0"}
                [random.nextInt(8) == 0 ? random.nextInt(4) : 0];
        byte[] settlement =
            bytes(
                out -> {
                  out.writeUInt32(1, index);
                  out.writeUInt64(2, usually(5, NUMBERS));
                  out.writeUInt64(3, usually(TIMES[2], TIMES));
                  out.writeString(4, position);
                  writeUnknown(out);
                });
        add(27, bytes(out -> out.writeByteArray(27, settlement)));
      }
    }
  }

  /** Adds a column; seldom without entries, and very seldom with a wrong number of entries. */
  private void column(int field, int count, IntToLongFunction number) {
    boolean isNeeded = field == 4 || field == 5 || field == 6 || field == 10 || field == 12;
    if (random.nextInt(isNeeded ? 100 : 5) > 0) {
      numbers(field, random.nextInt(500) == 0 ? count + 1 : count, number);
    }
  }

  private void numbers(int field, int count, IntToLongFunction number) {
    int done = 0;
    while (done < count) {
      int chunk = random.nextBoolean() ? count - done : 1 + random.nextInt(count - done);
      int from = done;
      if (chunk == 1 && random.nextBoolean()) {
        add(
            field,
            bytes(
                out -> {
                  out.writeTag(field, field == UUID_FIELD ? FIXED64 : VARINT);
                  writeNumber(out, field, number.applyAsLong(from));
                }));
      } else {
        byte[] content =
            bytes(
                out -> {
                  for (int i = from; i < from + chunk; i++) {
                    writeNumber(out, field, number.applyAsLong(i));
                  }
                });
        add(field, bytes(out -> out.writeByteArray(field, content)));
      }
      done += chunk;
    }
  }

  private static void writeNumber(CodedOutputStream out, int field, long number)
      throws IOException {
    if (field == UUID_FIELD) {
      out.writeFixed64NoTag(number);
    } else if (SIGNED.contains(field)) {
      out.writeSInt64NoTag(number);
    } else {
      out.writeUInt64NoTag(number);
    }
  }

  private void writeUnknown(CodedOutputStream out) throws IOException {
    if (random.nextInt(20) == 0) {
      out.writeRawBytes(unknown(1 + random.nextInt(20)));
    }
  }

  /** Returns a field of a random wire type, whose number may be a known one. */
  private byte[] unknown(int field) {
    return bytes(
        out -> {
          switch (random.nextInt(5)) {
            case 0 -> out.writeFixed32(field, random.nextInt());
            case 1 -> out.writeFixed64(field, random.nextLong());
            case 2 -> {
              out.writeTag(field, WireFormat.WIRETYPE_START_GROUP);
              out.writeString(7, "in a group");
              out.writeTag(8, WireFormat.WIRETYPE_START_GROUP);
              out.writeTag(8, WireFormat.WIRETYPE_END_GROUP);
              out.writeTag(field, WireFormat.WIRETYPE_END_GROUP);
            }
            case 3 -> {
              out.writeTag(field, PACKED);
              out.writeUInt32NoTag(0);
            }
            default -> out.writeUInt64(field + 30, random.nextInt(1 << 30));
          }
        });
  }
}
