// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.Check;
import io.weir.topics.model.Policy;
import java.util.List;

/**
 * What a call has to be asked of the cache, and on whose behalf.
 *
 * @param policies the policies that match, in their order
 * @param check one bucket for each of them, in the same order
 */
public record CheckPlan(List<Policy> policies, Check check) {
  public CheckPlan {
    policies = List.copyOf(policies);
    if (policies.size() != check.buckets().size()) {
      throw new IllegalArgumentException(
          policies.size() + " policies for " + check.buckets().size() + " buckets");
    }
  }
}
