// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.api.common.AttributeKey;
import java.util.List;

/**
 * The names of spans and their attributes. OpenTelemetry's semantic conventions define the names
 * without {@code weir}. No attribute contains the client or the endpoint of a call.
 */
final class SpanNames {
  /** The span of a request, from its arrival to its response. */
  static final String CHECK = "check";

  /** The step in which the node matches policies and the cache decides. */
  static final String DECIDE = "decide";

  /** The step in which calls reach the durability that {@code WEIR_DURABILITY} requires. */
  static final String RECORD = "record";

  /** The time between the append of the calls to the log and Kafka's acknowledgement. */
  static final String PUBLISH = "publish";

  static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
  static final AttributeKey<String> ROUTE = AttributeKey.stringKey("http.route");
  static final AttributeKey<String> SCHEME = AttributeKey.stringKey("url.scheme");
  static final AttributeKey<Long> STATUS = AttributeKey.longKey("http.response.status_code");
  static final AttributeKey<String> RPC_SYSTEM = AttributeKey.stringKey("rpc.system.name");
  static final AttributeKey<String> RPC_METHOD = AttributeKey.stringKey("rpc.method");
  static final AttributeKey<String> RPC_STATUS = AttributeKey.stringKey("rpc.response.status_code");
  static final AttributeKey<String> ERROR_TYPE = AttributeKey.stringKey("error.type");
  static final AttributeKey<String> MESSAGING_SYSTEM = AttributeKey.stringKey("messaging.system");
  static final AttributeKey<String> MESSAGING_OPERATION =
      AttributeKey.stringKey("messaging.operation.type");
  static final AttributeKey<String> MESSAGING_OPERATION_NAME =
      AttributeKey.stringKey("messaging.operation.name");
  static final AttributeKey<String> MESSAGING_DESTINATION =
      AttributeKey.stringKey("messaging.destination.name");

  /** The verdict: allowed, denied, shed or key-refused. */
  static final AttributeKey<String> VERDICT = AttributeKey.stringKey("weir.verdict");

  /** The deciding component, named as in the record. */
  static final AttributeKey<String> DECIDED_BY = AttributeKey.stringKey("weir.decided_by");

  /** Names of the policies that were evaluated for the call. */
  static final AttributeKey<List<String>> POLICIES = AttributeKey.stringArrayKey("weir.policies");

  /** Name of the policy that denied the call, or that is nearest to its limit. */
  static final AttributeKey<String> POLICY = AttributeKey.stringKey("weir.policy");

  /** Tokens that the call takes. */
  static final AttributeKey<Long> COST = AttributeKey.longKey("weir.cost");

  /** Number of calls in the request. */
  static final AttributeKey<Long> CALLS = AttributeKey.longKey("weir.calls");

  /** Number of calls of a batch that were allowed. */
  static final AttributeKey<Long> ALLOWED = AttributeKey.longKey("weir.calls.allowed");

  /** Number of calls of a batch that were denied. */
  static final AttributeKey<Long> DENIED = AttributeKey.longKey("weir.calls.denied");

  /** The index of this call in its request, from 0. */
  static final AttributeKey<Long> CALL = AttributeKey.longKey("weir.call.index");

  /** The result of recording: journaled, acked, dropped or refused. */
  static final AttributeKey<String> RECORDED = AttributeKey.stringKey("weir.recorded");

  private SpanNames() {}
}
