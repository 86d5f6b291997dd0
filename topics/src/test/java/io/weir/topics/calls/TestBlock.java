// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import com.google.protobuf.CodedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.TreeMap;

/** Writes a block field by field, without Weir's writer, so that a test can violate each rule. */
final class TestBlock {
  static final int TEXTS = 1;
  static final int CLIENT = 4;
  static final int ENDPOINT = 5;
  static final int METER = 6;
  static final int POLICY = 7;
  static final int COST = 10;
  static final int ALLOWED = 11;
  static final int DECIDED_BY = 12;
  static final int DECIDED_AT = 14;
  static final int ID = 15;
  static final int UUID = 17;
  static final int CHARGES = 18;
  static final int BUCKET = 19;
  static final int LIMIT = 21;
  static final int WITHOUT_STAMP = 22;
  static final int SETTLEMENTS = 27;

  private final TreeMap<Integer, byte[]> fields = new TreeMap<>();

  /** Returns a block of two valid calls of one client. */
  static TestBlock ofTwoCalls() {
    return new TestBlock()
        .texts(TEXTS, "acme", "-", "calls")
        .numbers(CLIENT, 1, 1)
        .numbers(ENDPOINT, 2, 2)
        .numbers(METER, 3, 3)
        .numbers(COST, 1, 2)
        .numbers(ALLOWED, 1, 1)
        .numbers(DECIDED_BY, 1, 7)
        .signed(DECIDED_AT, 5, -1)
        .texts(ID, "a", "b");
  }

  TestBlock without(int field) {
    fields.remove(field);
    return this;
  }

  TestBlock texts(int field, String... texts) {
    return put(
        field,
        out -> {
          for (String text : texts) {
            out.writeString(field, text);
          }
        });
  }

  TestBlock numbers(int field, long... numbers) {
    return packed(
        field,
        out -> {
          for (long number : numbers) {
            out.writeUInt64NoTag(number);
          }
        });
  }

  TestBlock signed(int field, long... numbers) {
    return packed(
        field,
        out -> {
          for (long number : numbers) {
            out.writeSInt64NoTag(number);
          }
        });
  }

  TestBlock fixed(int field, long... numbers) {
    return packed(
        field,
        out -> {
          for (long number : numbers) {
            out.writeFixed64NoTag(number);
          }
        });
  }

  /** Writes a field with a tag for each number, as proto2 does. */
  TestBlock unpacked(int field, long... numbers) {
    return put(
        field,
        out -> {
          for (long number : numbers) {
            out.writeUInt64(field, number);
          }
        });
  }

  TestBlock settlement(int call, long actualCost, long settledAt, String position) {
    byte[] content =
        bytes(
            out -> {
              out.writeUInt32(1, call);
              out.writeUInt64(2, actualCost);
              out.writeUInt64(3, settledAt);
              out.writeString(4, position);
            });
    byte[] known = fields.getOrDefault(SETTLEMENTS, new byte[0]);
    return put(
        SETTLEMENTS,
        out -> {
          out.writeRawBytes(known);
          out.writeByteArray(SETTLEMENTS, content);
        });
  }

  TestBlock raw(int field, byte[] content) {
    return put(field, out -> out.writeByteArray(field, content));
  }

  byte[] value() {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    fields.values().forEach(block::writeBytes);
    return bytes(out -> out.writeByteArray(1, block.toByteArray()));
  }

  private TestBlock packed(int field, Part part) {
    byte[] content = bytes(part);
    return put(field, out -> out.writeByteArray(field, content));
  }

  private TestBlock put(int field, Part part) {
    fields.put(field, bytes(part));
    return this;
  }

  /** Writes a part of a block. */
  private interface Part {
    void write(CodedOutputStream out) throws IOException;
  }

  private static byte[] bytes(Part part) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      part.write(out);
      out.flush();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
