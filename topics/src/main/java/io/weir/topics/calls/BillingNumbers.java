// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import java.io.IOException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Billing periods in the dictionary of a block. The values are not checked before {@link #billing}
 * is called.
 */
final class BillingNumbers {
  private static final int NAME = 1;
  private static final int START = 2;
  private static final int END = 3;
  private static final int ZONE = 4;
  private static final int BEFORE = 5;
  private static final int BEFORE_START = 6;

  private String name = "";
  private long startEpochMillis;
  private long endEpochMillis;
  private String zone = "";
  private String before = "";
  private long beforeStartEpochMillis;
  private @Nullable BilledIn billing;

  /** The digest; 0 until it is first computed. */
  private long digest;

  static BillingNumbers of(BilledIn billing) {
    BillingNumbers made = new BillingNumbers();
    made.billing = billing;
    made.name = billing.period().name();
    made.startEpochMillis = billing.period().startEpochMillis();
    made.endEpochMillis = billing.period().endEpochMillis();
    made.zone = billing.period().timeZone();
    BillingPeriod before = billing.before();
    if (before != null) {
      made.before = before.name();
      made.beforeStartEpochMillis = before.startEpochMillis();
    }
    return made;
  }

  static BillingNumbers read(CodedInputStream in) throws IOException {
    BillingNumbers read = new BillingNumbers();
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      boolean isText = WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      int field = WireFormat.getTagFieldNumber(tag);
      if (isText && field == NAME) {
        read.name = in.readStringRequireUtf8();
      } else if (isText && field == ZONE) {
        read.zone = in.readStringRequireUtf8();
      } else if (isText && field == BEFORE) {
        read.before = in.readStringRequireUtf8();
      } else if (isText || !read.readNumber(in, tag, field)) {
        in.skipField(tag);
      }
    }
    return read;
  }

  private boolean readNumber(CodedInputStream in, int tag, int field) throws IOException {
    if (WireFormat.getTagWireType(tag) != WireFormat.WIRETYPE_VARINT) {
      return false;
    }
    switch (field) {
      case START -> startEpochMillis = in.readSInt64();
      case END -> endEpochMillis = in.readSInt64();
      case BEFORE_START -> beforeStartEpochMillis = in.readSInt64();
      default -> {
        return false;
      }
    }
    return true;
  }

  int bytes() {
    int bytes =
        CodedOutputStream.computeStringSize(NAME, name)
            + CodedOutputStream.computeSInt64Size(START, startEpochMillis)
            + CodedOutputStream.computeSInt64Size(END, endEpochMillis)
            + CodedOutputStream.computeStringSize(ZONE, zone);
    if (!before.isEmpty()) {
      bytes +=
          CodedOutputStream.computeStringSize(BEFORE, before)
              + CodedOutputStream.computeSInt64Size(BEFORE_START, beforeStartEpochMillis);
    }
    return bytes;
  }

  void write(CodedOutputStream out) throws IOException {
    out.writeString(NAME, name);
    out.writeSInt64(START, startEpochMillis);
    out.writeSInt64(END, endEpochMillis);
    out.writeString(ZONE, zone);
    if (!before.isEmpty()) {
      out.writeString(BEFORE, before);
      out.writeSInt64(BEFORE_START, beforeStartEpochMillis);
    }
  }

  /**
   * Returns the billing periods.
   *
   * @throws IllegalArgumentException if the values do not form billing periods
   */
  BilledIn billing() {
    BilledIn made = billing;
    if (made == null) {
      made =
          new BilledIn(
              BillingPeriod.own(name, zone, startEpochMillis, endEpochMillis),
              before.isEmpty()
                  ? null
                  : BillingPeriod.own(before, zone, beforeStartEpochMillis, startEpochMillis));
      billing = made;
    }
    return made;
  }

  long digest() {
    if (digest == 0) {
      digest = computedDigest();
    }
    return digest;
  }

  private long computedDigest() {
    long extended = Digest.with(Digest.EMPTY, Digest.ofText(name));
    extended = Digest.with(extended, startEpochMillis);
    extended = Digest.with(extended, endEpochMillis);
    extended = Digest.with(extended, Digest.ofText(zone));
    if (!before.isEmpty()) {
      extended = Digest.with(extended, Digest.ofText(before));
      extended = Digest.with(extended, beforeStartEpochMillis);
    }
    return extended;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof BillingNumbers billed
        && startEpochMillis == billed.startEpochMillis
        && endEpochMillis == billed.endEpochMillis
        && beforeStartEpochMillis == billed.beforeStartEpochMillis
        && name.equals(billed.name)
        && zone.equals(billed.zone)
        && before.equals(billed.before);
  }

  @Override
  public int hashCode() {
    return Objects.hash(name, startEpochMillis, endEpochMillis, zone, before);
  }
}
