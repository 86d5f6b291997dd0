// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.health.v1.HealthGrpc;
import io.weir.access.Access;
import io.weir.access.Grant;
import io.weir.access.Scope;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lets calls in whose token has the scope check, as the check API does: the metadata {@code
 * authorization} holds it. Health is told to everybody. Thread-safe.
 */
final class TokenCheck implements ServerInterceptor {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Access access;

  TokenCheck(Access access) {
    this.access = access;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Status refusal =
        HealthGrpc.SERVICE_NAME.equals(call.getMethodDescriptor().getServiceName())
            ? null
            : refusal(headers);
    if (refusal == null) {
      return next.startCall(call, headers);
    }
    call.close(refusal, new Metadata());
    return new ServerCall.Listener<>() {};
  }

  private @Nullable Status refusal(Metadata headers) {
    List<String> given = new ArrayList<>();
    Iterable<String> values = headers.getAll(AUTHORIZATION);
    if (values != null) {
      values.forEach(given::add);
    }
    // of two it is not known which one others have looked at
    Access.Verdict verdict = access.of(given.size() == 1 ? given.get(0) : null);
    if (verdict instanceof Access.Refused refused) {
      return Status.UNAUTHENTICATED.withDescription(refused.detail());
    }
    Grant grant = ((Access.Granted) verdict).grant();
    return grant.scopes().contains(Scope.CHECK)
        ? null
        : Status.PERMISSION_DENIED.withDescription(
            "the token has not the scope " + Scope.CHECK.word());
  }
}
