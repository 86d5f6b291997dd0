// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** A running Weir, as seen by its callers, the readers of its reports and its operator. */
public interface Deployment {
  /** Returns the addresses for checking calls, one for each ingest node. */
  List<String> checkUrls();

  /** Returns the addresses of reports, one without a path for each aggregator. */
  List<String> reportsUrls();

  /** Returns Kafka's bootstrap servers, for the audit. */
  String kafka();

  /** Returns the token with which calls and reports are asked; empty if none is needed. */
  default String token() {
    return "";
  }

  /** Returns the number of partitions of the calls topic. */
  int partitions();

  /**
   * Checks that no process has ended that nothing will start again.
   *
   * @throws IllegalStateException if one has
   */
  void assertStands();

  /** Returns a limit of every client, whose admissions are audited; empty if there is none. */
  default Optional<Limit> limit() {
    return Optional.empty();
  }

  /** Runs {@code weir verify} over {@code [from, to)} and returns what it found. */
  Verified verify(Instant from, Instant to) throws Exception;
}
