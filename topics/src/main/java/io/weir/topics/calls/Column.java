// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import java.io.IOException;
import java.util.Arrays;

/** A growing list of integers, which a block stores as one packed field. Not thread-safe. */
final class Column {
  /** Number of integers above which the memory of a column is freed when it is cleared. */
  static final int MAX_KEPT = 64 * 1024;

  private static final int INITIAL_SIZE = 16;
  private static final int VARINT = 0;
  private static final int FIXED64 = 1;
  private static final int PACKED = 2;

  /** How the field stores an integer. */
  enum Form {
    /** A variable number of bytes; few for a small number. */
    UNSIGNED,
    /** A variable number of bytes; few for a small number, positive or negative. */
    SIGNED,
    /** Eight bytes. */
    FIXED
  }

  private final int field;
  private final Form form;
  private final boolean isRequired;
  private long[] values = new long[INITIAL_SIZE];
  private int size;

  /** Size of the integers in the packed field, in bytes. {@link #bytes} computes it. */
  private int contentBytes;

  Column(int field, Form form) {
    this(field, form, false);
  }

  private Column(int field, Form form, boolean isRequired) {
    this.field = field;
    this.form = form;
    this.isRequired = isRequired;
  }

  /** Creates a column whose field is absent only if the column has no integers. */
  static Column required(int field, Form form) {
    return new Column(field, form, true);
  }

  int field() {
    return field;
  }

  int size() {
    return size;
  }

  long get(int index) {
    return values[index];
  }

  int getInt(int index) {
    return (int) values[index];
  }

  void set(int index, long value) {
    values[index] = value;
  }

  void add(long value) {
    if (size == values.length) {
      values = Arrays.copyOf(values, 2 * size);
    }
    values[size++] = value;
  }

  /** Removes all integers, and frees the memory of an unusually large batch. */
  void clear() {
    if (values.length > MAX_KEPT) {
      values = new long[INITIAL_SIZE];
    }
    size = 0;
  }

  /** Appends zeros until the column has the given size. */
  void fill(int newSize) {
    while (size < newSize) {
      add(0);
    }
  }

  /** Reads one field, packed or unpacked. Returns false if the field has another wire type. */
  boolean read(CodedInputStream in, int wireType) throws IOException {
    if (wireType == (form == Form.FIXED ? FIXED64 : VARINT)) {
      add(readOne(in));
      return true;
    }
    if (wireType != PACKED) {
      return false;
    }
    int outer = in.pushLimit(in.readRawVarint32());
    while (!in.isAtEnd()) {
      add(readOne(in));
    }
    in.popLimit(outer);
    return true;
  }

  private long readOne(CodedInputStream in) throws IOException {
    return switch (form) {
      case UNSIGNED -> in.readRawVarint64();
      case SIGNED -> CodedInputStream.decodeZigZag64(in.readRawVarint64());
      case FIXED -> in.readRawLittleEndian64();
    };
  }

  /** Returns the number of bytes of the packed field; 0 if the field is absent. */
  int bytes() {
    contentBytes = contentBytes();
    return contentBytes == 0
        ? 0
        : CodedOutputStream.computeTagSize(field)
            + CodedOutputStream.computeUInt32SizeNoTag(contentBytes)
            + contentBytes;
  }

  private int contentBytes() {
    long any = 0;
    for (int i = 0; i < size; i++) {
      any |= values[i];
    }
    if (any == 0 && !isRequired) {
      return 0;
    }
    if (form == Form.FIXED) {
      return Long.BYTES * size;
    }
    int bytes = 0;
    for (int i = 0; i < size; i++) {
      bytes += CodedOutputStream.computeUInt64SizeNoTag(unsigned(values[i]));
    }
    return bytes;
  }

  private long unsigned(long value) {
    return form == Form.SIGNED ? CodedOutputStream.encodeZigZag64(value) : value;
  }

  /** Writes the packed field. Writes nothing if {@link #bytes} returned 0. */
  void write(CodedOutputStream out) throws IOException {
    if (contentBytes == 0) {
      return;
    }
    out.writeTag(field, PACKED);
    out.writeUInt32NoTag(contentBytes);
    for (int i = 0; i < size; i++) {
      if (form == Form.FIXED) {
        out.writeFixed64NoTag(values[i]);
      } else {
        out.writeUInt64NoTag(unsigned(values[i]));
      }
    }
  }
}
