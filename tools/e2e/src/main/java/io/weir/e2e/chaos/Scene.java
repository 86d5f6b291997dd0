// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.audit.Truth;
import java.util.random.RandomGenerator;

/**
 * The environment of a fault.
 *
 * @param truth the responses that callers receive during the fault
 * @param random random generator that only this fault uses
 */
record Scene(Cluster cluster, Truth truth, RandomGenerator random) {
  Member anyIngest() {
    return cluster.ingest().get(random.nextInt(cluster.ingest().size()));
  }

  Member anyAggregator() {
    return cluster.aggregators().get(random.nextInt(cluster.aggregators().size()));
  }

  Member anyBroker() {
    return cluster.brokers().get(random.nextInt(cluster.brokers().size()));
  }
}
