// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.health.v1.HealthGrpc;
import io.weir.access.Access;
import io.weir.access.Grant;
import io.weir.access.Scope;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Lets calls in whose token has the scope check, as the check API does: the metadata {@code
 * authorization} holds it. Health is told to everybody. Thread-safe.
 */
final class TokenCheck implements ServerInterceptor, ServerCallExecutorSupplier {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Access access;
  private final Executor verifying;

  /**
   * Creates a check.
   *
   * @param verifying runs the calls whose tokens have to be verified first, which may wait for the
   *     keys of an issuer
   */
  TokenCheck(Access access, Executor verifying) {
    this.access = access;
    this.verifying = verifying;
  }

  /** Keeps calls whose tokens are known from waiting behind others. */
  @Override
  public <Q, A> @Nullable Executor getExecutor(ServerCall<Q, A> call, Metadata headers) {
    return access.isKnown(authorization(headers)) ? null : verifying;
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

  private static @Nullable String authorization(Metadata headers) {
    List<String> given = new ArrayList<>();
    Iterable<String> values = headers.getAll(AUTHORIZATION);
    if (values != null) {
      values.forEach(given::add);
    }
    // of two it is not known which one others have looked at
    return given.size() == 1 ? given.get(0) : null;
  }

  private @Nullable Status refusal(Metadata headers) {
    Access.Verdict verdict = access.of(authorization(headers));
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
