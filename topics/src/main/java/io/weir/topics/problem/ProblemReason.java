// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Why a request is refused, in one word that a program can tell apart. What each one means, and
 * what a caller should do, is written in {@code docs/problems.md}, whose sections both APIs serve
 * under {@code /problems/}.
 */
public enum ProblemReason {
  /** The body is no JSON object. */
  INVALID_BODY(400, "The body is not one JSON object"),
  /** A member that is not known; most likely misspelt. */
  UNKNOWN_MEMBER(400, "A member is not known"),
  /** A member of the body, or of the path, is missing or wrong. */
  INVALID_MEMBER(400, "A member is missing or wrong"),
  /** A parameter of the query is unknown, missing or wrong. */
  INVALID_PARAMETER(400, "A parameter is wrong"),
  /** A header field is wrong. */
  INVALID_HEADER(400, "A header field is wrong"),
  /** Not HTTP/1.1 as it should be; the status says more. */
  MALFORMED_REQUEST(400, "The request is malformed"),
  /** No such path. */
  NO_SUCH_ROUTE(404, "There is no such route"),
  /** The call that is to be settled was not found. */
  CALL_NOT_FOUND(404, "The call was not found"),
  /** Only a denied try of the call that is to be settled was found. */
  ONLY_DENIED_TRY_FOUND(404, "Only a denied try was found"),
  /** The path has other methods. */
  METHOD_NOT_ALLOWED(405, "The route has other methods"),
  /** The request was not whole in time. */
  REQUEST_TOO_SLOW(408, "The request was not whole in time"),
  /** The call that is to be settled was denied. */
  CALL_DENIED(409, "A denied call cannot be settled"),
  /** The call was settled before, at another cost. */
  SETTLED_BEFORE(409, "The call was settled before"),
  /** The counting refuses the settlement. */
  SETTLEMENT_REFUSED(409, "The settlement was refused"),
  /** The body is too large. */
  BODY_TOO_LARGE(413, "The body is too large"),
  /** Denied: a bucket, or a quota, does not hold the cost now. */
  NOT_ENOUGH_TOKENS(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** Denied: the cost is above a capacity, so that waiting cannot help. */
  COST_EXCEEDS_CAPACITY(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** Denied by a policy that denies all such calls. */
  BLOCKED(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** Too much of the log was read for settlements of the client. */
  SEARCH_BUDGET_SPENT(429, "Too much was searched for"),
  /** A fault of the service. */
  INTERNAL_ERROR(500, "A fault of the service"),
  /** The cache does not decide, and a policy refuses calls then. */
  POLICY_FAILS_CLOSED(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The call could not be recorded. */
  NOT_RECORDED(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The node has as much to do as it takes. */
  OVERLOADED(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The node is about to end. */
  STOPPING(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The call that is to be settled could not be looked for, or the settlement not be kept. */
  SETTLEMENT_UNAVAILABLE(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The aggregator cannot answer reports. */
  NOT_READY(503, "The aggregator is not ready"),
  /** As many requests of this kind as are served are under way. */
  BUSY(503, "Too many such requests at once"),
  /** The figures may be old, and the format has no place to say so. */
  NOT_UP_TO_DATE(503, "The report may be old, and has no place to say so"),
  /** Nobody who has the partition answers. */
  PARTITION_UNAVAILABLE(503, "A partition cannot be asked"),
  /** The count has not come to the position in time. */
  POSITION_NOT_REACHED(504, "The report does not include the call yet");

  /** Where a problem's page is served. */
  public static final String PATH = "/problems/";

  private static final String REGISTRY = "https://iana.org/assignments/http-problem-types#";
  private static final String QUOTA_EXCEEDED = REGISTRY + "quota-exceeded";
  private static final String TEMPORARY_REDUCED_CAPACITY = REGISTRY + "temporary-reduced-capacity";

  private final int status;
  private final String title;
  private final String word;
  private final String type;

  ProblemReason(int status, String title) {
    this(status, title, null);
  }

  ProblemReason(int status, String title, @Nullable String registeredType) {
    this.status = status;
    this.title = title;
    this.word = name().toLowerCase(Locale.ROOT).replace('_', '-');
    this.type = registeredType == null ? ProblemReason.PATH + word : registeredType;
  }

  /** The HTTP status; of {@link #MALFORMED_REQUEST} the least specific one. */
  public int status() {
    return status;
  }

  /** The problem in words, the same each time. */
  public String title() {
    return title;
  }

  /** The word of the member {@code reason}: {@code cost-exceeds-capacity}. */
  public String word() {
    return word;
  }

  /**
   * The problem type (RFC 9457 §3.1.1): a registered one of draft-ietf-httpapi-ratelimit-headers-11
   * §6 where there is one, else the path of the problem's page.
   */
  public String type() {
    return type;
  }
}
