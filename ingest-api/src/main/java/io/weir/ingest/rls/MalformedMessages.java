// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.google.protobuf.Message;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Rejects malformed messages with {@code INVALID_ARGUMENT}. Without this class the gRPC library
 * would log each malformed message with a stack trace, so that any sender could fill the log.
 * Stateless and thread-safe.
 */
final class MalformedMessages {
  private static final Status REFUSAL =
      Status.INVALID_ARGUMENT.withDescription("the message is not a request of this method");

  private MalformedMessages() {}

  /**
   * Returns a service that rejects malformed messages and otherwise behaves like the given service.
   */
  static ServerServiceDefinition refusedBy(ServerServiceDefinition service) {
    ServiceDescriptor.Builder descriptor =
        ServiceDescriptor.newBuilder(service.getServiceDescriptor().getName())
            .setSchemaDescriptor(service.getServiceDescriptor().getSchemaDescriptor());
    List<ServerMethodDefinition<?, ?>> methods = new ArrayList<>();
    for (ServerMethodDefinition<?, ?> each : service.getMethods()) {
      ServerMethodDefinition<?, ?> method = refusing(each);
      descriptor.addMethod(method.getMethodDescriptor());
      methods.add(method);
    }
    ServerServiceDefinition.Builder same = ServerServiceDefinition.builder(descriptor.build());
    methods.forEach(same::addMethod);
    return same.build();
  }

  private static <Q, A> ServerMethodDefinition<Q, A> refusing(ServerMethodDefinition<Q, A> method) {
    MethodDescriptor<Q, A> descriptor = method.getMethodDescriptor();
    Tolerant<Q> tolerant = new Tolerant<>(descriptor.getRequestMarshaller());
    ServerCallHandler<Q, A> handler = method.getServerCallHandler();
    return ServerMethodDefinition.create(
        descriptor.toBuilder(tolerant, descriptor.getResponseMarshaller()).build(),
        (call, headers) ->
            new Refusing<>(call, handler.startCall(call, headers), tolerant.malformed));
  }

  /**
   * A marshaller that never throws an exception. For a malformed message, it returns a special
   * message object.
   */
  private static final class Tolerant<Q> implements Marshaller<Q> {
    private final Marshaller<Q> marshaller;
    private final Q malformed;

    Tolerant(Marshaller<Q> marshaller) {
      this.marshaller = marshaller;
      this.malformed = anotherMessage(marshaller);
    }

    /** Returns the special message object. No parsed message is the same object. */
    private static <Q> Q anotherMessage(Marshaller<Q> marshaller) {
      if (marshaller instanceof PrototypeMarshaller<Q> known
          && known.getMessagePrototype() instanceof Message message) {
        return known.getMessageClass().cast(message.newBuilderForType().build());
      }
      throw new IllegalArgumentException(
          "the messages of the service must be Protocol Buffers messages");
    }

    @Override
    public InputStream stream(Q message) {
      return marshaller.stream(message);
    }

    @Override
    public Q parse(InputStream stream) {
      try {
        return marshaller.parse(stream);
      } catch (StatusRuntimeException notReadable) {
        return malformed;
      }
    }
  }

  /** Closes a call after a malformed message, and does not pass the message to the service. */
  private static final class Refusing<Q, A> extends SimpleForwardingServerCallListener<Q> {
    private final ServerCall<Q, A> call;
    private final Q malformed;
    private boolean isRefused;

    Refusing(ServerCall<Q, A> call, ServerCall.Listener<Q> service, Q malformed) {
      super(service);
      this.call = call;
      this.malformed = malformed;
    }

    @Override
    @SuppressWarnings("ReferenceEquality") // a client may have sent an equal message
    public void onMessage(Q message) {
      if (message == malformed) {
        isRefused = true;
        call.close(REFUSAL, new Metadata());
      } else if (!isRefused) {
        super.onMessage(message);
      }
    }

    @Override
    public void onHalfClose() {
      if (!isRefused) {
        super.onHalfClose();
      }
    }
  }
}
