// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/**
 * Codec for the verdict on a settlement, as flat JSON in wire version 1. The members are {@code
 * position, client, id, verdict, actual_cost, standing, reason}. Without {@code actual_cost} and
 * {@code standing}, the settlement by which the call is billed is unknown. Only a refused
 * settlement has {@code reason}. {@code position, client, id} and {@code verdict} are required.
 * Stateless and thread-safe.
 */
public final class SettlementVerdictCodec {
  /** The value of the header {@code weir-type} on a verdict. */
  public static final String TYPE = "settlement-verdict";

  private SettlementVerdictCodec() {}

  /** Returns the record's value. The record's key is the client. */
  public static byte[] encode(SettlementVerdict verdict) {
    return Json.object(
        json -> {
          json.writeStringField("position", verdict.position().toString());
          json.writeStringField("client", verdict.client());
          json.writeStringField("id", verdict.id());
          json.writeStringField("verdict", verdict.outcome().wireName());
          Standing standing = verdict.standing();
          if (standing != null) {
            json.writeNumberField("actual_cost", standing.actualCost());
            json.writeStringField("standing", standing.position().toString());
          }
          String reason = verdict.reason();
          if (reason != null) {
            json.writeStringField("reason", reason);
          }
        });
  }

  /**
   * Decodes a value.
   *
   * @throws MalformedRecordException if the bytes are not a valid verdict; the message states the
   *     member
   */
  public static SettlementVerdict decode(byte[] bytes) throws MalformedRecordException {
    return Members.decode(
        bytes,
        "settlement verdict",
        record ->
            new SettlementVerdict(
                position(record.text("position"), "position"),
                record.text("client"),
                record.text("id"),
                Outcome.ofWireName(record.text("verdict")),
                standing(record),
                record.textOrNull("reason")));
  }

  private static @Nullable Standing standing(Members record) throws MalformedRecordException {
    String standing = record.textOrNull("standing");
    return standing == null
        ? null
        : new Standing(record.integer("actual_cost"), position(standing, "standing"));
  }

  private static UsagePosition position(String text, String member)
      throws MalformedRecordException {
    UsagePosition position = UsagePosition.parse(text);
    if (position == null) {
      throw new MalformedRecordException(
          "settlement verdict: " + member + " must be a usage position");
    }
    return position;
  }
}
