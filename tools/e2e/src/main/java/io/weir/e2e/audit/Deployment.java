// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** A running Weir, as seen by its callers, the readers of its reports and its operator. */
public interface Deployment {
  /** Returns the addresses to which callers send checks, one address for each ingest node. */
  List<String> checkUrls();

  /** Returns the address of each aggregator's reports API, without a path. */
  List<String> reportsUrls();

  /** Returns Kafka's bootstrap servers, for the audit. */
  String kafka();

  /** Returns the token for calls and reports; empty if the deployment needs no token. */
  default String token() {
    return "";
  }

  /** Returns the number of partitions of the calls topic. */
  int partitions();

  /**
   * Checks that every process runs or will be restarted.
   *
   * @throws IllegalStateException if a process has ended permanently
   */
  void assertStands();

  /**
   * Returns the limit that every client has, for the audit of admissions; empty if clients have no
   * limit.
   */
  default Optional<Limit> limit() {
    return Optional.empty();
  }

  /** Runs {@code weir verify} over {@code [from, to)}, and returns the result. */
  Verified verify(Instant from, Instant to) throws Exception;
}
