// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.CacheLoss;

/**
 * Codec for a {@link CacheLoss} in the calls topic, as flat JSON in wire version 1. The members are
 * {@code generation, found_at_ms}. Stateless and thread-safe.
 */
public final class CacheLossCodec {
  /** The value of the header {@code weir-type} on a {@link CacheLoss}. */
  public static final String TYPE = "cache-loss";

  private CacheLossCodec() {}

  /** Returns the record's value. The record has no key. */
  public static byte[] encode(CacheLoss loss) {
    return Json.object(
        json -> {
          json.writeStringField("generation", loss.generation());
          json.writeNumberField("found_at_ms", loss.foundAtEpochMillis());
        });
  }

  /**
   * Decodes a value.
   *
   * @throws MalformedRecordException if the bytes are not a valid record; the message states the
   *     member
   */
  public static CacheLoss decode(byte[] bytes) throws MalformedRecordException {
    return Members.decode(
        bytes,
        "cache loss",
        record -> new CacheLoss(record.text("generation"), record.integer("found_at_ms")));
  }
}
