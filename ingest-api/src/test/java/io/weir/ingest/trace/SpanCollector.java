// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import com.google.protobuf.InvalidProtocolBufferException;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.trace.v1.ResourceSpans;
import io.opentelemetry.proto.trace.v1.ScopeSpans;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A collector of traces: a server that takes OpenTelemetry's protocol over HTTP and keeps it. */
public final class SpanCollector implements AutoCloseable {
  private static final String PATH = "/v1/traces";

  private final List<Span> spans = new CopyOnWriteArrayList<>();
  private final List<KeyValue> resource = new CopyOnWriteArrayList<>();
  private final List<String> tokens = new CopyOnWriteArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final HttpServer server;
  private volatile CountDownLatch held = new CountDownLatch(0);

  private SpanCollector(HttpServer server) {
    this.server = server;
  }

  /** Starts a collector on any free port. */
  public static SpanCollector start() throws IOException {
    return start(0);
  }

  /** Starts a collector on a port. */
  public static SpanCollector start(int port) throws IOException {
    SpanCollector collector =
        new SpanCollector(
            HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0));
    collector.server.createContext(PATH, collector::take);
    collector.server.setExecutor(collector.threads);
    collector.server.start();
    return collector;
  }

  private void take(HttpExchange exchange) throws IOException {
    byte[] body = exchange.getRequestBody().readAllBytes();
    try {
      held.await();
    } catch (InterruptedException stopping) {
      exchange.close();
      return;
    }
    try {
      keep(ExportTraceServiceRequest.parseFrom(body));
    } catch (InvalidProtocolBufferException malformed) {
      exchange.sendResponseHeaders(400, -1);
      exchange.close();
      return;
    }
    tokens.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
    exchange.getResponseHeaders().set("Content-Type", "application/x-protobuf");
    exchange.sendResponseHeaders(200, -1);
    exchange.close();
  }

  private void keep(ExportTraceServiceRequest request) {
    for (ResourceSpans of : request.getResourceSpansList()) {
      resource.addAll(of.getResource().getAttributesList());
      for (ScopeSpans scope : of.getScopeSpansList()) {
        spans.addAll(scope.getSpansList());
      }
    }
  }

  /** From now on requests are read, and not answered until {@link #answer()}. */
  public void hang() {
    held = new CountDownLatch(1);
  }

  /** Answers the held requests and all later ones. */
  public void answer() {
    held.countDown();
  }

  /** The collector's address, for the node's settings. */
  public String endpoint() {
    return "http://127.0.0.1:" + port() + PATH;
  }

  public int port() {
    return server.getAddress().getPort();
  }

  /** All spans that have come. */
  public List<Span> spans() {
    return List.copyOf(spans);
  }

  /** The spans of a trace, which is named by 32 digits. */
  public List<Span> ofTrace(String trace) {
    return spans.stream()
        .filter(span -> hex(span.getTraceId().toByteArray()).equals(trace))
        .toList();
  }

  /** The values of the field {@code Authorization} in the requests. */
  public List<String> tokens() {
    return List.copyOf(tokens);
  }

  /** A text attribute of the sender. */
  public String resource(String name) {
    return text(List.copyOf(resource), name);
  }

  public static String hex(byte[] id) {
    return HexFormat.of().formatHex(id);
  }

  /** An attribute as a text; empty if there is none of that name. */
  public static String text(List<KeyValue> attributes, String name) {
    for (KeyValue attribute : attributes) {
      if (attribute.getKey().equals(name)) {
        AnyValue value = attribute.getValue();
        return switch (value.getValueCase()) {
          case STRING_VALUE -> value.getStringValue();
          case INT_VALUE -> Long.toString(value.getIntValue());
          case ARRAY_VALUE ->
              String.join(
                  ",",
                  value.getArrayValue().getValuesList().stream()
                      .map(AnyValue::getStringValue)
                      .toList());
          default -> value.toString();
        };
      }
    }
    return "";
  }

  @Override
  public void close() {
    held.countDown();
    server.stop(0);
    threads.shutdownNow();
  }
}
