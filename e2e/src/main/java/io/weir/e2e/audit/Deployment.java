// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** A running Weir, as its callers, the readers of its reports and its operator know it. */
public interface Deployment {
  /** Where calls are checked, one address for each ingest node. */
  List<String> checkUrls();

  /** Where reports are answered, one address without a path for each aggregator. */
  List<String> reportsUrls();

  /** Kafka's bootstrap servers, for the audit. */
  String kafka();

  /** How many partitions the calls have. */
  int partitions();

  /**
   * Sees to it that nothing has ended that nobody starts again.
   *
   * @throws IllegalStateException when something has
   */
  void assertStands();

  /** A limit of every client whose admissions are audited; empty when there is none such. */
  default Optional<Limit> limit() {
    return Optional.empty();
  }

  /**
   * What {@code weir verify} finds.
   *
   * @param to exclusive
   */
  Verified verify(Instant from, Instant to) throws Exception;
}
