// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;

/** Encodes and decodes the stored form of a bucket's audit, version 10. Stateless. */
public final class BucketAuditCodec {
  private static final int VERSION = 10;

  private BucketAuditCodec() {}

  /** Writes members to a value. */
  record Written(Packer value) implements StoredMembers {
    @Override
    public long integer(long member) {
      value.integer(member);
      return member;
    }

    @Override
    public String text(String member) {
      value.text(member);
      return member;
    }
  }

  /** Reads members from a value. */
  record Read(Unpacker value) implements StoredMembers {
    @Override
    public long integer(long ignored) {
      return value.integer();
    }

    @Override
    public String text(String ignored) {
      return value.text();
    }
  }

  /** Encodes an audit. */
  public static byte[] encode(BucketAudit audit, Packer value) {
    BucketLimit limit = audit.limit();
    value.reset().integer(VERSION).text(audit.bucket()).text(limit.algorithm().wireName());
    limit.writeTo((name, member) -> value.integer(member));
    audit.store(new Written(value));
    return value.toBytes();
  }

  /**
   * Decodes an audit.
   *
   * @throws IllegalStateException when the value has another version
   */
  public static BucketAudit decode(byte[] bytes) {
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    String bucket = value.text();
    BucketLimit limit = LimitAlgorithm.ofWireName(value.text()).read(name -> value.integer());
    BucketAudit audit = BucketAudit.empty(bucket, limit);
    audit.store(new Read(value));
    return audit;
  }

  /**
   * Decodes a stored value for a report.
   *
   * @throws IllegalStateException when the value has another version
   */
  public static BucketSnapshot snapshot(byte[] bytes) {
    return decode(bytes).snapshot();
  }
}
