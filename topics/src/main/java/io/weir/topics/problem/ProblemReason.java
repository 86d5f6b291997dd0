// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Why a request is refused, as a word that programs can distinguish. The meaning of each, and what
 * a caller should do, is described in {@code docs/problems.md}, whose sections both APIs serve
 * under {@code /problems/}.
 */
public enum ProblemReason {
  /** The body is not a JSON object. */
  INVALID_BODY(400, "The body is not the JSON that the route takes"),
  /** A member is not known; it is probably misspelt. */
  UNKNOWN_MEMBER(400, "A member is not known"),
  /** A member of the body, or of the path, is missing or wrong. */
  INVALID_MEMBER(400, "A member is missing or wrong"),
  /** A parameter of the query is unknown, missing or wrong. */
  INVALID_PARAMETER(400, "A parameter is wrong"),
  /** A header field is wrong. */
  INVALID_HEADER(400, "A header field is wrong"),
  /** The request is not valid HTTP/1.1; the status is more specific. */
  MALFORMED_REQUEST(400, "The request is malformed"),
  /** The policies would not be valid; {@code errors} names everything that is wrong. */
  INVALID_POLICY(400, "The policies are not valid"),
  /** No client has the call's API key, or it has expired. */
  API_KEY_REFUSED(401, "The API key is not accepted"),
  /** The gateway does not say whose call it is, or not in a way that can be one. */
  CALLER_UNKNOWN(401, "It is not known whose call it is"),
  /** The request has no token, or one that is not accepted. */
  TOKEN_REFUSED(401, "A token is needed"),
  /** The token does not allow this. */
  NOT_ALLOWED(403, "The token does not allow this"),
  /** The request does not come from where policies may be read and changed. */
  ADMIN_NOT_ALLOWED(403, "Not allowed from there"),
  /** There is no such path. */
  NO_SUCH_ROUTE(404, "There is no such route"),
  /** No setting says by which header field a gateway's callers are known. */
  AUTHZ_NOT_CONFIGURED(404, "The routes for gateways are off"),
  /** The call to be settled was not found. */
  CALL_NOT_FOUND(404, "The call was not found"),
  /** Only a denied attempt of the call to be settled was found. */
  ONLY_DENIED_TRY_FOUND(404, "Only a denied try was found"),
  /** There is no such policy, or nothing is set for the client. */
  POLICY_NOT_FOUND(404, "It was not found"),
  /** The path does not support this method. */
  METHOD_NOT_ALLOWED(405, "The route has other methods"),
  /** The request was not complete in time. */
  REQUEST_TOO_SLOW(408, "The request was not whole in time"),
  /** The call to be settled was denied. */
  CALL_DENIED(409, "A denied call cannot be settled"),
  /** The call was settled before, at another cost. */
  SETTLED_BEFORE(409, "The call was settled before"),
  /** The aggregator refuses the settlement. */
  SETTLEMENT_REFUSED(409, "The settlement was refused"),
  /** The slot is not held any more: its lease has ended. */
  SLOT_ENDED(409, "The slot is not held any more"),
  /** The policy or client was changed since the caller has seen it. */
  CHANGED_SINCE(412, "It was changed since"),
  /** The body is too large. */
  BODY_TOO_LARGE(413, "The body is too large"),
  /** The body is of another media type than the route takes. */
  UNSUPPORTED_MEDIA_TYPE(415, "The body is of another media type"),
  /** The call was denied: a bucket, or a quota, does not currently hold the cost. */
  NOT_ENOUGH_TOKENS(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** The call was denied: as many calls as may be at once hold slots. */
  NO_SLOT_FREE(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** The call was denied: the cost is above a capacity, so that waiting cannot help. */
  COST_EXCEEDS_CAPACITY(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** The call was denied by a policy that denies all such calls. */
  BLOCKED(429, "Quota exceeded", ProblemReason.QUOTA_EXCEEDED),
  /** The searches for calls of this client have read too much of the log. */
  SEARCH_BUDGET_SPENT(429, "Too much was searched for"),
  /** A fault of the service occurred. */
  INTERNAL_ERROR(500, "A fault of the service"),
  /** The cache does not decide, and a policy refuses calls in that case. */
  POLICY_FAILS_CLOSED(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The call could not be recorded. */
  NOT_RECORDED(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The node is at its maximum load. */
  OVERLOADED(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The key of a caller's token is not known, and the issuer does not give its keys. */
  CALLER_KEYS_UNAVAILABLE(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The node is shutting down. */
  STOPPING(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The call to be settled could not be searched for, or the settlement could not be recorded. */
  SETTLEMENT_UNAVAILABLE(
      503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** The cache does not answer, so that slots are neither renewed nor released. */
  SLOTS_UNAVAILABLE(503, "Temporarily reduced capacity", ProblemReason.TEMPORARY_REDUCED_CAPACITY),
  /** Kafka does not answer, so that policies cannot be changed. */
  POLICIES_UNAVAILABLE(503, "Policies cannot be changed now"),
  /** The aggregator cannot answer reports. */
  NOT_READY(503, "The aggregator is not ready"),
  /** The maximum number of concurrent requests of this kind is reached. */
  BUSY(503, "Too many such requests at once"),
  /** The figures may be out of date, and the format cannot express that. */
  NOT_UP_TO_DATE(503, "The report may be old, and has no place to say so"),
  /** No instance that has the partition answers. */
  PARTITION_UNAVAILABLE(503, "A partition cannot be asked"),
  /** The count has not reached the position in time. */
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

  /** Returns the HTTP status; for {@link #MALFORMED_REQUEST} the least specific one. */
  public int status() {
    return status;
  }

  /** Returns the problem in words, the same for every occurrence. */
  public String title() {
    return title;
  }

  /** Returns the word of the member {@code reason}, such as {@code cost-exceeds-capacity}. */
  public String word() {
    return word;
  }

  /**
   * Returns the problem type (RFC 9457 §3.1.1): a registered one of
   * draft-ietf-httpapi-ratelimit-headers-11 §6 if there is one, otherwise the path of the problem's
   * page.
   */
  public String type() {
    return type;
  }
}
