// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A received request. The strings of a request may contain invalid UTF-8, because proxies copy the
 * bytes of header fields. If Weir refused such a request, Envoy could let it pass without a limit.
 * So Weir replaces each invalid byte by an unpaired surrogate (U+DC80 to U+DCFF) with the byte as
 * its lower 8 bits. Two different strings never become equal. Immutable.
 *
 * @param request the request; null if the message is not a request
 */
record ReceivedRequest(@Nullable RateLimitRequest request) {
  /**
   * The marshaller of requests. The marshaller never throws an exception, because the gRPC library
   * would log the exception.
   */
  static final MethodDescriptor.Marshaller<ReceivedRequest> MARSHALLER =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(ReceivedRequest request) {
          throw new IllegalStateException("a server does not send requests");
        }

        @Override
        public ReceivedRequest parse(InputStream stream) {
          try {
            return of(stream.readAllBytes());
          } catch (IOException | StatusRuntimeException cannotBeUnpacked) {
            return NONE;
          }
        }
      };

  private static final ReceivedRequest NONE = new ReceivedRequest(null);

  private static final int LENGTH_DELIMITED = 2;
  private static final int DOMAIN = textTag(RateLimitRequest.DOMAIN_FIELD_NUMBER);
  private static final int DESCRIPTORS = textTag(RateLimitRequest.DESCRIPTORS_FIELD_NUMBER);
  private static final int ENTRIES = textTag(RateLimitDescriptor.ENTRIES_FIELD_NUMBER);
  private static final int KEY = textTag(RateLimitDescriptor.Entry.KEY_FIELD_NUMBER);
  private static final int VALUE = textTag(RateLimitDescriptor.Entry.VALUE_FIELD_NUMBER);

  private static final char FIRST_LOW_SURROGATE = '\udc00';

  /** Parses a message. */
  static ReceivedRequest of(byte[] message) {
    try {
      return new ReceivedRequest(RateLimitRequest.parseFrom(message));
    } catch (InvalidProtocolBufferException notAllText) {
      try {
        return new ReceivedRequest(request(ByteString.copyFrom(message)));
      } catch (IOException malformed) {
        return NONE;
      }
    }
  }

  /** Returns the tag of a string or message field. */
  private static int textTag(int field) {
    return field << 3 | LENGTH_DELIMITED;
  }

  private static RateLimitRequest request(ByteString message) throws IOException {
    RateLimitRequest.Builder request = RateLimitRequest.newBuilder();
    UnknownFieldSet.Builder others = UnknownFieldSet.newBuilder();
    CodedInputStream input = message.newCodedInput();
    for (int tag = input.readTag(); tag != 0; tag = input.readTag()) {
      if (tag == DOMAIN) {
        request.setDomain(text(input.readBytes()));
      } else if (tag == DESCRIPTORS) {
        request.addDescriptors(descriptor(input.readBytes()));
      } else {
        take(others, tag, input);
      }
    }
    return request.mergeFrom(others.build().toByteString()).build();
  }

  private static RateLimitDescriptor descriptor(ByteString message) throws IOException {
    RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder();
    UnknownFieldSet.Builder others = UnknownFieldSet.newBuilder();
    CodedInputStream input = message.newCodedInput();
    for (int tag = input.readTag(); tag != 0; tag = input.readTag()) {
      if (tag == ENTRIES) {
        descriptor.addEntries(entry(input.readBytes()));
      } else {
        take(others, tag, input);
      }
    }
    return descriptor.mergeFrom(others.build().toByteString()).build();
  }

  private static RateLimitDescriptor.Entry entry(ByteString message) throws IOException {
    RateLimitDescriptor.Entry.Builder entry = RateLimitDescriptor.Entry.newBuilder();
    UnknownFieldSet.Builder others = UnknownFieldSet.newBuilder();
    CodedInputStream input = message.newCodedInput();
    for (int tag = input.readTag(); tag != 0; tag = input.readTag()) {
      if (tag == KEY) {
        entry.setKey(text(input.readBytes()));
      } else if (tag == VALUE) {
        entry.setValue(text(input.readBytes()));
      } else {
        take(others, tag, input);
      }
    }
    return entry.build();
  }

  /** Reads a field that is not a string. The message classes interpret the field later. */
  private static void take(UnknownFieldSet.Builder others, int tag, CodedInputStream input)
      throws IOException {
    if (!others.mergeFieldFrom(tag, input)) {
      throw new InvalidProtocolBufferException("the message ends a group that it did not begin");
    }
  }

  private static String text(ByteString bytes) {
    if (bytes.isValidUtf8()) {
      return bytes.toStringUtf8();
    }
    ByteBuffer input = bytes.asReadOnlyByteBuffer();
    CharBuffer text = CharBuffer.allocate(bytes.size());
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    CoderResult result = decoder.decode(input, text, true);
    while (result.isMalformed()) {
      for (int i = 0; i < result.length(); i++) {
        text.put((char) (FIRST_LOW_SURROGATE + (input.get() & 0xff)));
      }
      result = decoder.decode(input, text, true);
    }
    return text.flip().toString();
  }
}
