// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * The messages of Envoy's rate limit service as they are shipped: of Envoy's API the module
 * ingest-api takes only what they refer to, and here, unlike there, the whole is not on the class
 * path.
 */
final class ShippedMessagesTest {
  @Test
  void wholeApi_isNotOnTheClassPath() {
    assertTrue(!System.getProperty("java.class.path").contains("controlplane"));
  }

  @Test
  void messages_areReadAndWritten() throws InvalidProtocolBufferException {
    String json =
        "{\"domain\":\"d\",\"descriptors\":[{\"entries\":[{\"key\":\"k\",\"value\":\"v\"}],"
            + "\"limit\":{\"requestsPerUnit\":1,\"unit\":\"DAY\"},\"hitsAddend\":\"3\"}]}";
    RateLimitRequest.Builder request = RateLimitRequest.newBuilder();
    JsonFormat.parser().merge(json, request);

    assertEquals(
        json, JsonFormat.printer().omittingInsignificantWhitespace().print(request.build()));
    assertEquals(request.build(), RateLimitRequest.parseFrom(request.build().toByteArray()));
    String response =
        "{\"overallCode\":\"OK\",\"statuses\":[{\"code\":\"OK\",\"currentLimit\":"
            + "{\"requestsPerUnit\":1,\"unit\":\"DAY\"},\"durationUntilReset\":\"1.500s\"}],"
            + "\"responseHeadersToAdd\":[{\"key\":\"a\",\"value\":\"b\"}]}";
    RateLimitResponse.Builder read = RateLimitResponse.newBuilder();
    JsonFormat.parser().merge(response, read);
    assertEquals(
        response, JsonFormat.printer().omittingInsignificantWhitespace().print(read.build()));
  }

  @Test
  void files_areShippedWithTheirImports() {
    Set<String> files = new TreeSet<>();
    add(RateLimitRequest.getDescriptor().getFile(), files);

    assertTrue(files.contains("envoy/service/ratelimit/v3/rls.proto"), files::toString);
    assertTrue(files.contains("envoy/annotations/deprecation.proto"), files::toString);
    assertEquals("envoy.service.ratelimit.v3.RateLimitService", RateLimitServiceGrpc.SERVICE_NAME);
  }

  private static void add(FileDescriptor file, Set<String> files) {
    if (files.add(file.getName())) {
      assertTrue(file.toProto().getSerializedSize() > 0, file.getName());
      file.getDependencies().forEach(imported -> add(imported, files));
    }
  }
}
