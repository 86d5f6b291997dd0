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

  /** Encodes an audit. */
  public static byte[] encode(BucketAudit audit, Packer value) {
    BucketLimit limit = audit.limit();
    value.reset().integer(VERSION).text(audit.bucket()).text(limit.algorithm().wireName());
    limit.writeTo((name, member) -> value.integer(member));
    audit.store(value.members());
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
    audit.store(value.members());
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
