// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;

/** Makes malformed batches of calls. */
public final class AlteredBatch {
  /** The field number of the client column in {@code weir-calls.proto}. */
  public static final int CLIENT = 4;

  public static final int ENDPOINT = 5;
  public static final int COST = 10;

  /** A field number that the schema does not define. */
  public static final int UNDEFINED = 100;

  private static final int BLOCKS = 1;

  private AlteredBatch() {}

  /**
   * Returns a batch of one block, in which one field has the given content.
   *
   * @param content the entries of a column; each entry below 128 is one byte
   */
  public static byte[] withField(byte[] batch, int field, byte... content) {
    try {
      ByteString block =
          UnknownFieldSet.parseFrom(batch).getField(BLOCKS).getLengthDelimitedList().get(0);
      UnknownFieldSet altered =
          UnknownFieldSet.parseFrom(block).toBuilder()
              .addField(field, field(ByteString.copyFrom(content)))
              .build();
      return UnknownFieldSet.newBuilder()
          .addField(BLOCKS, field(altered.toByteString()))
          .build()
          .toByteArray();
    } catch (InvalidProtocolBufferException notABatch) {
      throw new IllegalArgumentException(notABatch);
    }
  }

  private static Field field(ByteString content) {
    return Field.newBuilder().addLengthDelimited(content).build();
  }
}
