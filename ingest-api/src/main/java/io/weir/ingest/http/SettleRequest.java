// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.ingest.http.JsonBody.Invalid;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.limits.Names;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A request to settle a call.
 *
 * @param query identifies the call
 * @param actualCost the actual cost of the call
 */
record SettleRequest(CallQuery query, long actualCost) {

  /**
   * Reads a request.
   *
   * @param id the id in the path
   * @param position the Usage-Position header field; null if not given
   */
  static SettleRequest read(
      String id, @Nullable String position, byte[] body, UnknownMembers unknown) throws Invalid {
    String violation = Names.violation(id);
    if (violation != null) {
      throw Invalid.member("id", violation);
    }
    UsagePosition at = position == null ? null : UsagePosition.parse(position);
    if (position != null && at == null) {
      throw new Invalid(
          Problem.ofField(
              ProblemReason.INVALID_HEADER,
              "Usage-Position",
              "must be partition:node:epoch:line, as in the answer to the check"));
    }
    return JsonBody.read(body, json -> readMembers(json, id, at, unknown));
  }

  private static SettleRequest readMembers(
      JsonParser json, String id, @Nullable UsagePosition position, UnknownMembers unknown)
      throws IOException, Invalid {
    String client = null;
    long actualCost = -1;
    for (String member = json.nextFieldName(); member != null; member = json.nextFieldName()) {
      JsonToken value = json.nextToken();
      switch (member) {
        case "client" -> client = JsonBody.name(json, value, member);
        case "actual_cost" -> actualCost = JsonBody.units(json, value, member, 0);
        default -> JsonBody.unknown(json, member, "client and actual_cost", unknown);
      }
    }
    if (client == null) {
      throw Invalid.member("client", "is missing");
    }
    if (actualCost < 0) {
      throw Invalid.member("actual_cost", "is missing");
    }
    return new SettleRequest(new CallQuery(client, id, position), actualCost);
  }
}
