// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.gateways;

import io.weir.e2e.WeirProcess;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A gateway that runs as the documentation says. Its methods for calls are thread-safe. */
final class Gateway implements AutoCloseable {
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final WeirProcess process;
  private final int port;

  private Gateway(WeirProcess process, int port) {
    this.process = process;
    this.port = port;
  }

  /** Starts nginx; open or closed while Weir is away. */
  static Gateway nginx(Path folder, TwoNodes nodes, Shop shop, boolean open) throws Exception {
    List<String> blocks = Recipe.blocks("nginx");
    String site = blocks.get(0);
    if (open) {
      String closed = site.substring(site.indexOf("    # closed\n"), site.lastIndexOf('}'));
      site = site.replace(closed, blocks.get(1));
    }
    return nginx(folder, nodes, shop, site);
  }

  /** Starts nginx in front of nodes that know callers by their tokens. */
  static Gateway nginxWithTokens(Path folder, TwoNodes nodes, Shop shop) throws Exception {
    List<String> blocks = Recipe.blocks("nginx");
    String site = blocks.get(0);
    int key = site.indexOf("map $http_x_api_key ");
    String ofKey = site.substring(key, site.indexOf("}\n", key) + 2);
    Map<String, String> places = new LinkedHashMap<>();
    places.put(ofKey, blocks.get(2));
    places.put(
        "proxy_set_header X-API-Key $weir_key;", "proxy_set_header Authorization $weir_token;");
    return nginx(folder, nodes, shop, Recipe.with(site, places));
  }

  private static Gateway nginx(Path folder, TwoNodes nodes, Shop shop, String site)
      throws Exception {
    int port = Ports.free();
    Path own = Files.createTempDirectory(folder, "nginx");
    Map<String, String> places = places(nodes, shop);
    places.put("listen 80;", "listen 127.0.0.1:" + port + ";");
    Files.writeString(own.resolve("weir.conf"), Recipe.with(site, places));
    String user = "root".equals(System.getProperty("user.name")) ? "user root;\n" : "";
    Path main =
        Files.writeString(
            own.resolve("nginx.conf"),
            user
                + """
                daemon off;
                worker_processes 1;
                pid FOLDER/pid;
                error_log stderr;
                events {}
                http {
                    access_log off;
                    client_body_temp_path FOLDER/body;
                    proxy_temp_path FOLDER/proxy;
                    fastcgi_temp_path FOLDER/fastcgi;
                    uwsgi_temp_path FOLDER/uwsgi;
                    scgi_temp_path FOLDER/scgi;
                    include FOLDER/weir.conf;
                }
                """
                    .replace("FOLDER", own.toString()));
    return started(own, List.of(program("nginx"), "-e", "stderr", "-c", main.toString()), port);
  }

  /** Starts HAProxy; open or closed while Weir is away. */
  static Gateway haproxy(Path folder, TwoNodes nodes, Shop shop, boolean open) throws Exception {
    int port = Ports.free();
    Path own = Files.createTempDirectory(folder, "haproxy");
    Map<String, String> socket = Map.of("abns@weir", "abns@weir-" + port);
    Path script =
        Files.writeString(
            own.resolve("weir.lua"), Recipe.with(Recipe.blocks("lua").get(0), socket));
    List<String> blocks = Recipe.blocks("haproxy");
    String config = blocks.get(0);
    if (open) {
      int closed = config.indexOf("    # closed\n");
      int rule = config.indexOf('\n', closed) + 1;
      int end = config.indexOf('\n', rule) + 1;
      config = config.substring(0, closed) + blocks.get(1) + config.substring(end);
    }
    Map<String, String> places = places(nodes, shop);
    places.put("bind :80", "bind 127.0.0.1:" + port);
    places.put("/etc/haproxy/weir.lua", script.toString());
    places.putAll(socket);
    Path main = Files.writeString(own.resolve("haproxy.cfg"), Recipe.with(config, places));
    return started(own, List.of(program("haproxy"), "-db", "-f", main.toString()), port);
  }

  private static Map<String, String> places(TwoNodes nodes, Shop shop) {
    Map<String, String> places = new LinkedHashMap<>();
    places.put("10.0.0.11:8080", "127.0.0.1:" + nodes.port(0));
    places.put("10.0.0.12:8080", "127.0.0.1:" + nodes.port(1));
    places.put("10.0.0.21:8000", "127.0.0.1:" + shop.port());
    return places;
  }

  /** Returns the path of a program, of which packages put some where only root looks. */
  private static String program(String name) {
    String path = System.getenv().getOrDefault("PATH", "") + File.pathSeparator + "/usr/sbin";
    return Stream.of(path.split(Pattern.quote(File.pathSeparator), -1))
        .map(directory -> Path.of(directory, name))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + " is not installed: apt-get install " + name))
        .toString();
  }

  private static Gateway started(Path folder, List<String> command, int port) throws Exception {
    WeirProcess process = WeirProcess.startProgram(folder, Map.of(), command);
    try {
      Await.until(
          () -> command + " to listen; it said " + process.errors(),
          () -> {
            if (!process.isAlive()) {
              throw new AssertionError(command + " has ended: " + process.errors());
            }
            return listens(port);
          });
      return new Gateway(process, port);
    } catch (Throwable failed) {
      process.close();
      throw failed;
    }
  }

  private static boolean listens(int port) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException notYet) {
      return false;
    }
  }

  /** Calls the application with an API key; without one if it is empty. */
  HttpResponse<String> call(String method, String path, String key)
      throws IOException, InterruptedException {
    return send(method, path, "X-API-Key", key);
  }

  /** Calls the application with a token; without one if it is empty. */
  HttpResponse<String> callWithToken(String method, String path, String token)
      throws IOException, InterruptedException {
    return send(method, path, "Authorization", token.isEmpty() ? "" : "Bearer " + token);
  }

  private HttpResponse<String> send(String method, String path, String field, String value)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .method(method, HttpRequest.BodyPublishers.noBody());
    if (!value.isEmpty()) {
      request.header(field, value);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Returns what it has told on its error output. */
  String errors() {
    return process.errors();
  }

  @Override
  public void close() {
    process.close();
  }
}
