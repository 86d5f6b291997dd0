// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.DecisionCache;
import io.weir.ingest.correct.Corrections;
import io.weir.ingest.gate.CallLog;
import org.junit.jupiter.api.Test;

final class HealthBodyTest {
  /** Regression: the detail of a healthy log began with a space. */
  @Test
  void of_detailOfTheCallLog_hasNoLeadingSpace() {
    String body =
        HealthBody.of(
            true,
            false,
            false,
            new DecisionCache.Health(true, ""),
            new CallLog.Health(true, " held_lines=0"),
            new Corrections.Health(true, ""),
            null);

    assertTrue(body.contains("\"detail\":\"held_lines=0\""), body);
  }
}
