// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.servers.Ports;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Another product's limiter with an HTTP server, in a separate process. */
final class ForeignServer implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final long LOOK_NANOS = 20_000_000;
  private static final String NODE_SCRIPT = "rate-limiter-http.cjs";

  private final Process process;
  private final int port;

  private ForeignServer(Process process, int port) {
    this.process = process;
    this.port = port;
  }

  /**
   * Starts nginx with one worker.
   *
   * @param http content of the http block, with {@code {port}} for the server's port
   * @throws IOException if nginx is not installed or does not start
   */
  static ForeignServer nginx(Path folder, String http) throws IOException, InterruptedException {
    Files.createDirectories(folder);
    int port = Ports.free();
    Path configuration =
        Files.writeString(
            folder.resolve("nginx.conf"),
            """
            daemon off;
            worker_processes 1;
            pid %1$s/nginx.pid;
            error_log %1$s/error.log;
            events { worker_connections 1024; }
            http {
              access_log off;
              client_body_temp_path %1$s/body;
              proxy_temp_path %1$s/proxy;
              fastcgi_temp_path %1$s/fastcgi;
              uwsgi_temp_path %1$s/uwsgi;
              scgi_temp_path %1$s/scgi;
              keepalive_requests 1000000;
            %2$s
            }
            """
                .formatted(folder, http.replace("{port}", Integer.toString(port))));
    return awaitPort(start(folder, "/usr/sbin/nginx", "-c", configuration.toString()), port);
  }

  /** Starts HAProxy with one thread. HAProxy counts the requests of each client in a table. */
  static ForeignServer haproxy(Path folder) throws IOException, InterruptedException {
    Files.createDirectories(folder);
    int port = Ports.free();
    Path configuration =
        Files.writeString(
            folder.resolve("haproxy.cfg"),
            """
            global
              nbthread 1
            defaults
              mode http
              timeout client 60s
              timeout connect 5s
              timeout server 60s
            frontend calls
              bind 127.0.0.1:%d
              stick-table type string len 64 size 100k expire 60s store http_req_rate(60s)
              http-request track-sc0 hdr(X-Client)
              http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1000000 }
              http-request return status 200 content-type application/json string "{}"
            """
                .formatted(port));
    return awaitPort(start(folder, "/usr/sbin/haproxy", "-f", configuration.toString()), port);
  }

  /** Starts the npm package rate-limiter-flexible behind the HTTP server of Node.js. */
  static ForeignServer flexible(Path folder, int redisPort)
      throws IOException, InterruptedException {
    FlexibleLimiter.install(folder);
    try (InputStream script =
        Objects.requireNonNull(ForeignServer.class.getResourceAsStream(NODE_SCRIPT))) {
      Files.copy(script, folder.resolve(NODE_SCRIPT));
    }
    Process process =
        new ProcessBuilder("node", NODE_SCRIPT, Integer.toString(redisPort))
            .directory(folder.toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String line = lines.readLine();
    if (line == null) {
      throw new IOException("node did not start");
    }
    return new ForeignServer(process, Integer.parseInt(line.replace("ready ", "")));
  }

  private static Process start(Path folder, String... command) throws IOException {
    return new ProcessBuilder(List.of(command))
        .directory(folder.toFile())
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("output").toFile())
        .start();
  }

  private static ForeignServer awaitPort(Process process, int port)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (process.isAlive() && System.nanoTime() < end) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return new ForeignServer(process, port);
      } catch (IOException notYet) {
        LockSupport.parkNanos(LOOK_NANOS);
      }
    }
    process.destroyForcibly().waitFor();
    throw new IOException(process.info().command().orElse("a server") + " did not start");
  }

  String address() {
    return "127.0.0.1:" + port;
  }

  /** Returns the processor time of the process and its children since their start. */
  long cpuNanos() {
    return Stream.concat(Stream.of(process.toHandle()), process.descendants())
        .mapToLong(MeasuredServer::cpuNanos)
        .sum();
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException interrupted) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
