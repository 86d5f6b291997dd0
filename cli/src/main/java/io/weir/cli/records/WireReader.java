// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

/**
 * Reads the fields of a protobuf message, as protobuf.dev/programming-guides/encoding defines them.
 * Not thread-safe.
 */
final class WireReader {
  static final int VARINT = 0;
  static final int FIXED64 = 1;

  /** The wire type of texts, messages and packed numbers. */
  static final int LENGTH = 2;

  private static final int GROUP = 3;
  private static final int END_OF_GROUP = 4;
  private static final int FIXED32 = 5;

  private static final int WIRE_TYPE_BITS = 3;
  private static final int WIRE_TYPES = 7;

  /** Maximum depth of groups, which are unknown fields of a form that protobuf has replaced. */
  private static final int MAX_NESTING = 100;

  private final byte[] bytes;
  private int position;
  private int end;
  private int tag;

  WireReader(byte[] bytes) {
    this.bytes = bytes;
    this.end = bytes.length;
  }

  /** Returns the index of the next byte. */
  int position() {
    return position;
  }

  boolean hasNext() {
    return position < end;
  }

  /** Begins the next field; returns false at the end of the message. */
  boolean nextField() throws UnreadableException {
    if (!hasNext()) {
      return false;
    }
    tag = (int) varint();
    require(field() > 0);
    return true;
  }

  /** Returns the number of the current field. */
  int field() {
    return tag >>> WIRE_TYPE_BITS;
  }

  int wireType() {
    return tag & WIRE_TYPES;
  }

  long varint() throws UnreadableException {
    long value = 0;
    for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE - 1) {
      require(hasNext());
      byte next = bytes[position++];
      value |= (next & 0x7fL) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw notAMessage();
  }

  /** Returns the signed number of a varint of type {@code sint64}. */
  static long signed(long varint) {
    return (varint >>> 1) ^ -(varint & 1);
  }

  long fixed64() throws UnreadableException {
    long value = 0;
    int start = position;
    skip(Long.BYTES);
    for (int i = Long.BYTES - 1; i >= 0; i--) {
      value = value << Byte.SIZE | (bytes[start + i] & 0xff);
    }
    return value;
  }

  /** Reads a length, and skips the bytes that follow. Returns the length. */
  int skipLength() throws UnreadableException {
    int length = (int) varint();
    skip(length);
    return length;
  }

  /**
   * Reads a length, and ends the reader after these bytes.
   *
   * @return the previous end, for {@link #leave}
   */
  int enter() throws UnreadableException {
    int outer = end;
    int length = (int) varint();
    require(length >= 0 && length <= end - position);
    end = position + length;
    return outer;
  }

  /** Continues after the bytes that {@link #enter} has entered. */
  void leave(int outer) {
    position = end;
    end = outer;
  }

  /** Skips the value of the current field. The end of a group that did not start is ignored. */
  void skipField() throws UnreadableException {
    skipField(0);
  }

  private void skipField(int depth) throws UnreadableException {
    switch (wireType()) {
      case VARINT -> varint();
      case FIXED64 -> skip(Long.BYTES);
      case FIXED32 -> skip(Integer.BYTES);
      case LENGTH -> skipLength();
      case GROUP -> skipGroup(depth);
      case END_OF_GROUP -> {}
      default -> throw notAMessage();
    }
  }

  private void skipGroup(int depth) throws UnreadableException {
    int group = field();
    require(depth < MAX_NESTING);
    while (true) {
      require(nextField());
      if (wireType() == END_OF_GROUP) {
        require(field() == group);
        return;
      }
      skipField(depth + 1);
    }
  }

  private void skip(int count) throws UnreadableException {
    require(count >= 0 && count <= end - position);
    position += count;
  }

  private static void require(boolean holds) throws UnreadableException {
    if (!holds) {
      throw notAMessage();
    }
  }

  private static UnreadableException notAMessage() {
    return new UnreadableException("the value is not a CallBatch of weir-calls.proto");
  }
}
