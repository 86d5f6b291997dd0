// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.UsagePosition;
import java.io.IOException;

/**
 * A settlement in a block. The values are not checked before {@link #settlement} is called.
 *
 * @param call index of the call in its block
 * @param position position of the settled call; empty if the settlement does not state it
 */
record SettlementNumbers(int call, long actualCost, long settledAtEpochMillis, String position) {
  private static final int CALL = 1;
  private static final int ACTUAL_COST = 2;
  private static final int SETTLED_AT = 3;
  private static final int POSITION = 4;

  static SettlementNumbers of(int call, CallSettlement settlement) {
    UsagePosition position = settlement.call();
    return new SettlementNumbers(
        call,
        settlement.actualCost(),
        settlement.settledAtEpochMillis(),
        position == null ? "" : position.toString());
  }

  /** Returns this settlement for the call with another index. */
  SettlementNumbers at(int newCall) {
    return new SettlementNumbers(newCall, actualCost, settledAtEpochMillis, position);
  }

  static SettlementNumbers read(CodedInputStream in) throws IOException {
    int call = 0;
    long actualCost = 0;
    long settledAt = 0;
    String position = "";
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int field = WireFormat.getTagFieldNumber(tag);
      int wireType = WireFormat.getTagWireType(tag);
      boolean isVarint = wireType == WireFormat.WIRETYPE_VARINT;
      if (isVarint && field == CALL) {
        call = in.readUInt32();
      } else if (isVarint && field == ACTUAL_COST) {
        actualCost = in.readUInt64();
      } else if (isVarint && field == SETTLED_AT) {
        settledAt = in.readUInt64();
      } else if (wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED && field == POSITION) {
        position = in.readStringRequireUtf8();
      } else {
        in.skipField(tag);
      }
    }
    return new SettlementNumbers(call, actualCost, settledAt, position);
  }

  int bytes() {
    return CodedOutputStream.computeUInt32Size(CALL, call)
        + CodedOutputStream.computeUInt64Size(ACTUAL_COST, actualCost)
        + CodedOutputStream.computeUInt64Size(SETTLED_AT, settledAtEpochMillis)
        + CodedOutputStream.computeStringSize(POSITION, position);
  }

  void write(CodedOutputStream out) throws IOException {
    out.writeUInt32(CALL, call);
    out.writeUInt64(ACTUAL_COST, actualCost);
    out.writeUInt64(SETTLED_AT, settledAtEpochMillis);
    out.writeString(POSITION, position);
  }

  /**
   * Returns the settlement.
   *
   * @throws IllegalArgumentException if a value is invalid
   */
  CallSettlement settlement() {
    UsagePosition call = position.isEmpty() ? null : UsagePosition.parse(position);
    if (call == null && !position.isEmpty()) {
      throw new IllegalArgumentException("call_position must be partition:node:epoch:line");
    }
    return new CallSettlement(actualCost, settledAtEpochMillis, call);
  }

  long addTo(long digest) {
    long extended = Digest.with(digest, actualCost);
    extended = Digest.with(extended, settledAtEpochMillis);
    return Digest.with(extended, position.isEmpty() ? 0 : Digest.ofText(position));
  }
}
