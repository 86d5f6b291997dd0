// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.limits.BucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.CacheRestored;
import java.util.Locale;

/**
 * Codec for the records of the corrections topic, as flat JSON in wire version 1. Stateless and
 * thread-safe.
 *
 * <p>A correction has {@code bucket, epoch, version, charged, full_at_us, total, drift, reason,
 * disturbed_at_ms, as_of_ms, known_through_us} and the members of the limit (see {@link
 * LimitMembers}). The default of {@code known_through_us} is 0, because an earlier release did not
 * write this member.
 */
public final class CorrectionCodec {
  /** The value of the header {@code weir-type} on a correction. */
  public static final String TYPE = "correction";

  /** The value of the header {@code weir-type} on a {@link CacheRestored}. */
  public static final String RESTORED_TYPE = "restored";

  private CorrectionCodec() {}

  /** Returns the record's value. The record's key is the bucket. */
  public static byte[] encode(Correction correction) {
    return Json.object(
        json -> {
          json.writeStringField("bucket", correction.bucket());
          json.writeNumberField("epoch", correction.epoch());
          json.writeNumberField("version", correction.version());
          json.writeNumberField("charged", correction.chargedTokens());
          json.writeNumberField("full_at_us", correction.fullAtEpochMicros());
          json.writeNumberField("total", correction.totalTokens());
          json.writeNumberField("drift", correction.driftTokens());
          json.writeStringField("reason", correction.cause().wireName());
          json.writeNumberField("disturbed_at_ms", correction.disturbedAtEpochMillis());
          json.writeNumberField("as_of_ms", correction.asOfEpochMillis());
          json.writeNumberField("known_through_us", correction.knownThroughEpochMicros());
          LimitMembers.write(json, correction.limit());
        });
  }

  /**
   * Decodes a correction.
   *
   * @throws MalformedRecordException if the bytes are not a valid correction; the message states
   *     the member
   */
  public static Correction decode(byte[] bytes) throws MalformedRecordException {
    return Members.decode(bytes, "correction", CorrectionCodec::correction);
  }

  private static Correction correction(Members record) throws MalformedRecordException {
    BucketLimit limit = LimitMembers.read(record);
    if (limit == null) {
      throw new MalformedRecordException("correction: capacity is missing");
    }
    return new Correction(
        record.text("bucket"),
        limit,
        record.integer("epoch"),
        record.integer("version"),
        record.integer("charged"),
        record.integer("full_at_us"),
        record.integer("total"),
        record.integer("drift"),
        Cause.ofWireName(record.text("reason")),
        record.integer("disturbed_at_ms"),
        record.integer("as_of_ms"),
        record.integer("known_through_us", 0));
  }

  /**
   * Returns the key of a {@link CacheRestored}. The key begins with {@code @}, so it differs from
   * the key of every bucket.
   */
  public static String restoredKey(int partition) {
    return String.format(Locale.ROOT, "@restored/%05d", partition);
  }

  /** Returns the value of a {@link CacheRestored}. */
  public static byte[] encode(CacheRestored restored) {
    return Json.object(
        json -> {
          json.writeStringField("generation", restored.generation());
          json.writeNumberField("partition", restored.partition());
          json.writeNumberField("partitions", restored.partitions());
          json.writeNumberField("buckets", restored.buckets());
          json.writeNumberField("as_of_ms", restored.asOfEpochMillis());
        });
  }

  /**
   * Decodes a {@link CacheRestored}.
   *
   * @throws MalformedRecordException if the bytes are not a valid record; the message states the
   *     member
   */
  public static CacheRestored decodeRestored(byte[] bytes) throws MalformedRecordException {
    return Members.decode(
        bytes,
        "restored record",
        record ->
            new CacheRestored(
                record.text("generation"),
                record.smallInteger("partition"),
                record.smallInteger("partitions"),
                record.integer("buckets"),
                record.integer("as_of_ms")));
  }
}
