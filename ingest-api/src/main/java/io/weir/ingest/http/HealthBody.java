// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.decision.DecisionCache;
import io.weir.ingest.correct.Corrections;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.policy.log.PolicyFollower;
import io.weir.limits.ZoneData;
import org.jspecify.annotations.Nullable;

/** Builds the body of a readiness response: the health of each component, with details. */
final class HealthBody {
  private static final ObjectMapper JSON = new ObjectMapper();

  private HealthBody() {}

  static String of(
      boolean ready,
      boolean starting,
      boolean stopping,
      DecisionCache.Health cache,
      CallLog.Health log,
      Corrections.Health corrections,
      PolicyFollower.@Nullable Health policies) {
    ObjectNode body = JSON.createObjectNode();
    body.put("ok", ready);
    body.put("starting", starting);
    body.put("stopping", stopping);
    body.put("zone_data", ZoneData.version());
    body.putObject("decision_cache").put("ok", cache.ok()).put("detail", cache.detail());
    body.putObject("call_log").put("ok", log.ok()).put("detail", log.detail().strip());
    body.putObject("corrections").put("ok", corrections.ok()).put("detail", corrections.detail());
    if (policies != null) {
      body.putObject("policies")
          .put("ok", policies.ok())
          .put("detail", policies.detail())
          .put("version", policies.version())
          .put("source", policies.source().word());
    }
    try {
      return JSON.writeValueAsString(body);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
