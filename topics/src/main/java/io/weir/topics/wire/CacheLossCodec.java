// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.CacheLoss;

/**
 * The word in the calls topic that the cache has lost its state, as flat JSON: wire version 1.
 * Members: {@code generation, found_at_ms}. Stateless and safe for threads.
 */
public final class CacheLossCodec {
  /** The value of the header {@code weir-type} on such a record. */
  public static final String TYPE = "cache-loss";

  private CacheLossCodec() {}

  /** The record's value; it has no key. */
  public static byte[] encode(CacheLoss loss) {
    return Json.object(
        json -> {
          json.writeStringField("generation", loss.generation());
          json.writeNumberField("found_at_ms", loss.foundAtEpochMillis());
        });
  }

  /**
   * Reads a value.
   *
   * @throws MalformedRecordException when the bytes are none; the message names the member
   */
  public static CacheLoss decode(byte[] bytes) throws MalformedRecordException {
    Members record = Members.read(bytes, "cache loss");
    try {
      return new CacheLoss(record.text("generation"), record.integer("found_at_ms"));
    } catch (IllegalArgumentException badValue) {
      throw new MalformedRecordException("cache loss: " + badValue.getMessage(), badValue);
    }
  }
}
