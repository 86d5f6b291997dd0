// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.ingest.gate.CallRequest;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.topics.problem.Problem;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * The route {@code POST /v1/check/batch} for up to 1,000 checks in one request. The gate decides
 * each check separately, and each check has its own status. The decided checks are recorded
 * together. If a caller repeats a batch with the same ids, the aggregator counts the calls once.
 * Thread-safe.
 */
final class BatchRoute {
  static final String PATH = "/v1/check/batch";

  private final CheckGate gate;
  private final UnknownMembers unknownMembers;

  BatchRoute(CheckGate gate, UnknownMembers unknownMembers) {
    this.gate = gate;
    this.unknownMembers = unknownMembers;
  }

  /** Answers a request. */
  void handle(Exchange exchange) throws JsonBody.Invalid {
    exchange.requireNoParameters();
    List<JsonBody.Element<CallRequest>> elements =
        CheckRequest.readBatch(exchange.body(), unknownMembers);
    List<CallRequest> calls = new ArrayList<>(elements.size());
    for (JsonBody.Element<CallRequest> element : elements) {
      if (element.value() != null) {
        calls.add(element.value());
      }
    }
    List<CheckOutcome> outcomes =
        calls.isEmpty() ? List.of() : gate.check(calls, exchange.traceOfCalls());
    exchange.write(200, body(elements, outcomes.iterator()));
  }

  private static byte[] body(
      List<JsonBody.Element<CallRequest>> elements, Iterator<CheckOutcome> outcomes) {
    return CheckResponse.writeArray(
        json -> {
          for (JsonBody.Element<CallRequest> element : elements) {
            json.writeStartObject();
            writeElement(json, element, outcomes);
            json.writeEndObject();
          }
        });
  }

  private static void writeElement(
      JsonGenerator json, JsonBody.Element<CallRequest> element, Iterator<CheckOutcome> outcomes)
      throws IOException {
    Problem problem = element.problem();
    if (problem != null) {
      problem.writeMembers(json);
    } else {
      CheckResponse.writeOutcome(json, outcomes.next());
    }
  }
}
