// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Why a request was not answered, as a problem document (RFC 9457).
 *
 * @param type names the kind of problem
 * @param title the kind in words
 * @param status the HTTP status
 * @param detail what is wrong this time
 * @param field the parameter or header that is wrong, null when it is none
 * @param missingPartitions partitions that could not be asked; empty when it is not about them
 */
record Problem(
    String type,
    String title,
    int status,
    String detail,
    @Nullable String field,
    List<Integer> missingPartitions) {

  static final String MEDIA_TYPE = "application/problem+json";

  Problem {
    missingPartitions = List.copyOf(missingPartitions);
  }

  private static final String NOT_UP_TO_DATE = "not-up-to-date";
  private static final String BUSY = "busy";

  static Problem badParameter(String field, String rule) {
    return new Problem(
        "bad-parameter", "A parameter is wrong", 400, field + " " + rule, field, List.of());
  }

  static Problem positionNotReached(String position) {
    return new Problem(
        "position-not-reached",
        "The report does not include the call yet",
        504,
        "position " + position + " was not reached in time",
        "Usage-Position",
        List.of());
  }

  static Problem partitionUnavailable(int partition, String why) {
    return new Problem(
        "partition-unavailable",
        "A partition cannot be asked",
        503,
        "partition " + partition + ": " + why,
        null,
        List.of(partition));
  }

  static Problem notUpToDate() {
    return new Problem(
        NOT_UP_TO_DATE,
        "The report may be old, and has no place to say so",
        503,
        "Kafka does not answer; ask for JSON, which says so",
        null,
        List.of());
  }

  static Problem notReady(String why) {
    return new Problem("not-ready", "The aggregator is not ready", 503, why, null, List.of());
  }

  static Problem busy(String why) {
    return new Problem(BUSY, "Too many such requests at once", 503, why, null, List.of());
  }

  static Problem notFound(String path) {
    return new Problem("not-found", "There is no such route", 404, path, null, List.of());
  }

  static Problem methodNotAllowed(String request) {
    return new Problem(
        "method-not-allowed", "The route has other methods", 405, request, null, List.of());
  }

  static Problem internal() {
    return new Problem(
        "internal-error", "The report failed", 500, "see the aggregator's log", null, List.of());
  }

  /** Whether another aggregator may know more. */
  boolean isAboutMissingPartition() {
    return !missingPartitions.isEmpty();
  }

  /** Whether a problem of this type comes from one that has the partition all the same. */
  static boolean isOfOneWithPartition(String type) {
    return type.equals(NOT_UP_TO_DATE) || type.equals(BUSY);
  }

  Map<String, Object> members() {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("type", type);
    members.put("title", title);
    members.put("status", status);
    members.put("detail", detail);
    if (field != null) {
      members.put("field", field);
    }
    if (!missingPartitions.isEmpty()) {
      members.put("missing_partitions", missingPartitions);
    }
    return members;
  }
}
