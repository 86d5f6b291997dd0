// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.List;

/** Calls for tests. */
final class TestCalls {
  private TestCalls() {}

  static CallEvent call(String id, String client, long decidedAtEpochMillis) {
    return new CallEvent(
        id,
        false,
        client,
        "GET /v1/items",
        "calls",
        1,
        true,
        DecidedBy.NONE,
        null,
        7,
        decidedAtEpochMillis,
        null,
        List.of());
  }
}
