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
import java.util.concurrent.ThreadPoolExecutor;
import org.jspecify.annotations.Nullable;

/**
 * An interceptor that admits a call only if its token has the check scope. The check API has the
 * same rule. The token is in the metadata {@code authorization}. The health service requires no
 * token. Thread-safe.
 */
final class TokenCheck implements ServerInterceptor, ServerCallExecutorSupplier {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /**
   * Maximum number of calls that wait for the verification of their tokens. Weir refuses further
   * calls.
   */
  private static final int MAX_WAITING = 1_000;

  private final Access access;
  private final ThreadPoolExecutor verifying;

  /** A thread that may wait for the keys of a token issuer. */
  static final class VerifyingThread extends Thread {
    VerifyingThread(Runnable task) {
      super(task, "weir-grpc-tokens");
      setDaemon(true);
    }
  }

  /**
   * Creates a check.
   *
   * @param verifying runs the calls whose tokens Weir must first verify. A verification may wait
   *     for the keys of a token issuer. The executor's threads must be {@link VerifyingThread}s
   */
  TokenCheck(Access access, ThreadPoolExecutor verifying) {
    this.access = access;
    this.verifying = verifying;
  }

  /**
   * Returns the executor of a call. A call with a known token never waits behind a call whose token
   * Weir must verify.
   */
  @Override
  public <Q, A> @Nullable Executor getExecutor(ServerCall<Q, A> call, Metadata headers) {
    return access.isKnown(authorization(headers)) || verifying.getQueue().size() >= MAX_WAITING
        ? null
        : verifying;
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
    // if there are two tokens, it is unknown which token other components have checked
    return given.size() == 1 ? given.get(0) : null;
  }

  private @Nullable Status refusal(Metadata headers) {
    String authorization = authorization(headers);
    if (!access.isKnown(authorization) && !(Thread.currentThread() instanceof VerifyingThread)) {
      return Status.UNAVAILABLE.withDescription(
          "the node is at its limit of tokens to verify; nothing was decided");
    }
    Access.Verdict verdict = access.of(authorization);
    if (verdict instanceof Access.Refused refused) {
      return Status.UNAUTHENTICATED.withDescription(refused.detail());
    }
    Grant grant = ((Access.Granted) verdict).grant();
    return grant.scopes().contains(Scope.CHECK)
        ? null
        : Status.PERMISSION_DENIED.withDescription(
            "the token does not have the scope " + Scope.CHECK.word());
  }
}
