// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.google.protobuf.UInt64Value;
import com.google.protobuf.UnknownFieldSet;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import java.util.List;

/** Requests of Envoy's rate limit service, as a proxy makes them. */
final class Requests {
  private Requests() {}

  /** A request of the domain {@code shop}, by 1 hit. */
  static RateLimitRequest of(RateLimitDescriptor... descriptors) {
    return RateLimitRequest.newBuilder()
        .setDomain("shop")
        .addAllDescriptors(List.of(descriptors))
        .build();
  }

  /** A descriptor of entries, given as keys and values in turn. */
  static RateLimitDescriptor descriptor(String... keysAndValues) {
    RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      descriptor.addEntries(
          RateLimitDescriptor.Entry.newBuilder()
              .setKey(keysAndValues[i])
              .setValue(keysAndValues[i + 1]));
    }
    return descriptor.build();
  }

  static RateLimitDescriptor withHits(RateLimitDescriptor descriptor, long hits) {
    return descriptor.toBuilder().setHitsAddend(UInt64Value.of(hits)).build();
  }

  static RateLimitDescriptor withLimit(
      RateLimitDescriptor descriptor, int requests, RateLimitUnit unit) {
    return descriptor.toBuilder()
        .setLimit(
            RateLimitDescriptor.RateLimitOverride.newBuilder()
                .setRequestsPerUnit(requests)
                .setUnit(unit))
        .build();
  }

  /** The field that newer proxies send; the messages of this build do not have it. */
  static RateLimitDescriptor negative(RateLimitDescriptor descriptor) {
    return descriptor.toBuilder()
        .setUnknownFields(
            UnknownFieldSet.newBuilder()
                .addField(4, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                .build())
        .build();
  }

  /** A request on the wire in which two bytes stand wherever a text of two characters stood. */
  static byte[] withBytes(RateLimitRequest request, String replaced, int first, int second) {
    byte[] message = request.toByteArray();
    for (int i = 0; i + 1 < message.length; i++) {
      if (message[i] == replaced.charAt(0) && message[i + 1] == replaced.charAt(1)) {
        message[i] = (byte) first;
        message[i + 1] = (byte) second;
      }
    }
    return message;
  }
}
