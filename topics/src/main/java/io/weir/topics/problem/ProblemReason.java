// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The reason why an API rejects a request. Programs read the {@link #word} of the reason. {@code
 * docs/problems.md} describes each reason and the action that the caller should take. The check API
 * and the reports API serve the sections of this document under {@code /problems/}.
 */
public enum ProblemReason {
  /** The body is not a JSON object. */
  INVALID_BODY(400, "The body is not valid for this route"),
  /** A member is unknown, probably because it is misspelled. */
  UNKNOWN_MEMBER(400, "A member is unknown"),
  /** A member of the body, or of the path, is missing or wrong. */
  INVALID_MEMBER(400, "A member is missing or wrong"),
  /** A parameter of the query is unknown, missing or wrong. */
  INVALID_PARAMETER(400, "A parameter is wrong"),
  /** A header field is wrong. */
  INVALID_HEADER(400, "A header field is wrong"),
  /** The request is not valid HTTP/1.1; the response has a more specific status. */
  MALFORMED_REQUEST(400, "The request is malformed"),
  /** The policies are not valid; {@code errors} lists all errors. */
  INVALID_POLICY(400, "The policies are not valid"),
  /** The API key is unknown or has expired. */
  API_KEY_REFUSED(401, "The API key is not accepted"),
  /** The gateway does not name the caller, or names the caller in an invalid form. */
  CALLER_UNKNOWN(401, "The caller is unknown"),
  /** The request has no token, or its token is not valid. */
  TOKEN_REFUSED(401, "A valid token is required"),
  /** The token does not allow the request. */
  NOT_ALLOWED(403, "The token does not allow the request"),
  /** Requests from this address must not read or change policies. */
  ADMIN_NOT_ALLOWED(403, "The address is not allowed"),
  /** The path does not exist. */
  NO_SUCH_ROUTE(404, "The route does not exist"),
  /** No setting specifies how to identify the callers of a gateway. */
  AUTHZ_NOT_CONFIGURED(404, "The routes for gateways are off"),
  /** The call to be settled was not found. */
  CALL_NOT_FOUND(404, "The call was not found"),
  /** Only a denied attempt of the call to be settled was found. */
  ONLY_DENIED_TRY_FOUND(404, "Only a denied attempt was found"),
  /** The policy does not exist, or the client has no settings. */
  POLICY_NOT_FOUND(404, "The policy or client was not found"),
  /** The path does not support this method. */
  METHOD_NOT_ALLOWED(405, "The method is not allowed"),
  /** The request was not complete in time. */
  REQUEST_TOO_SLOW(408, "The request was not complete in time"),
  /** The call to be settled was denied. */
  CALL_DENIED(409, "A denied call cannot be settled"),
  /** The call was settled before, at another cost. */
  SETTLED_BEFORE(409, "The call was settled before"),
  /** The aggregator refuses the settlement. */
  SETTLEMENT_REFUSED(409, "The settlement was refused"),
  /** The slot is no longer held: its lease has expired. */
  SLOT_ENDED(409, "The slot is no longer held"),
  /** The policy or client was changed after the caller read it. */
  CHANGED_SINCE(412, "It was changed meanwhile"),
  /** The body is too large. */
  BODY_TOO_LARGE(413, "The body is too large"),
  /** The body has another media type than the route accepts. */
  UNSUPPORTED_MEDIA_TYPE(415, "The media type is not supported"),
  /** The call was denied because a bucket has too few tokens for the cost. */
  NOT_ENOUGH_TOKENS(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** The call was denied because other calls hold all slots. */
  NO_SLOT_FREE(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** The call was denied because the cost is above a capacity, so a retry cannot succeed. */
  COST_EXCEEDS_CAPACITY(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** The call was denied by a policy that denies all matching calls. */
  BLOCKED(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** Searches for the client's calls have read the maximum amount of the log. */
  SEARCH_BUDGET_SPENT(429, "The search budget is spent"),
  /** An internal error occurred. */
  INTERNAL_ERROR(500, "Internal error"),
  /** The cache is unavailable, and a policy rejects calls in this case. */
  POLICY_FAILS_CLOSED(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The call could not be recorded. */
  NOT_RECORDED(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The node is at its maximum load. */
  OVERLOADED(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The signing key of a caller's token is unknown, and the issuer's keys are unavailable. */
  CALLER_KEYS_UNAVAILABLE(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The node is shutting down. */
  STOPPING(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The search for the call failed, or the settlement could not be recorded. */
  SETTLEMENT_UNAVAILABLE(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The cache is unavailable, so slots can be neither renewed nor released. */
  SLOTS_UNAVAILABLE(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** Kafka is unavailable, so policies cannot be changed. */
  POLICIES_UNAVAILABLE(503, "Policies cannot be changed now"),
  /** The aggregator cannot answer reports. */
  NOT_READY(503, "The aggregator is not ready"),
  /** The maximum number of concurrent requests of this kind is reached. */
  BUSY(503, "Too many concurrent requests"),
  /** The figures may be out of date, and the requested format cannot state this. */
  NOT_UP_TO_DATE(503, "The report may be out of date"),
  /** No instance with the partition has replied. */
  PARTITION_UNAVAILABLE(503, "A partition is unavailable"),
  /** The counts did not reach the requested position before the timeout. */
  POSITION_NOT_REACHED(504, "The report does not include the call yet");

  /** The path under which problem pages are served. */
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

  /** Returns the HTTP status; for {@link #MALFORMED_REQUEST} the most general status. */
  public int status() {
    return status;
  }

  /** Returns the title of the problem, which is the same for every occurrence. */
  public String title() {
    return title;
  }

  /** Returns the word of the member {@code reason}, such as {@code cost-exceeds-capacity}. */
  public String word() {
    return word;
  }

  /**
   * Returns the problem type (RFC 9457 §3.1.1): the type that
   * draft-ietf-httpapi-ratelimit-headers-11 §6 defines for the reason, or else the path of the
   * problem's page.
   */
  public String type() {
    return type;
  }
}
