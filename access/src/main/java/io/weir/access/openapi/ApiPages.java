// SPDX-License-Identifier: Apache-2.0
package io.weir.access.openapi;

import io.javalin.config.JavalinConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/**
 * The routes that serve the description of an API, and the page that shows it in a browser. They
 * are for everybody, since they say nothing but what the documentation says. Thread-safe.
 */
public final class ApiPages {
  private static final String DESCRIPTION = "/openapi.json";
  private static final String PAGE = "/docs";

  private static final String SCRIPT = "text/javascript; charset=utf-8";

  /** Swagger UI sets styles from its script, and has its icons in its style sheet. */
  private static final String CONTENT_SECURITY_POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'"
          + " data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors"
          + " 'none'";

  private final ApiDescription api;
  private final Map<String, byte[]> contents = new ConcurrentHashMap<>();

  /** Creates the routes of an API. */
  public ApiPages(ApiDescription api) {
    this.api = api;
  }

  /** Returns whether a request is for one of these routes. */
  public static boolean isFor(Request request) {
    String path = Request.getPathInContext(request);
    return path.equals(DESCRIPTION) || path.equals(PAGE) || path.startsWith(PAGE + "/");
  }

  /** Registers the routes. */
  public void register(JavalinConfig config) {
    register(config, DESCRIPTION, "application/json", this::description);
    register(config, PAGE, "text/html; charset=utf-8", this::page);
    register(config, PAGE + "/start.js", SCRIPT, () -> own("start.js"));
    register(
        config, PAGE + "/swagger-ui-bundle.js", SCRIPT, () -> ofSwaggerUi("swagger-ui-bundle.js"));
    register(
        config,
        PAGE + "/swagger-ui.css",
        "text/css; charset=utf-8",
        () -> ofSwaggerUi("swagger-ui.css"));
  }

  /** Registers a route whose content is read when it is asked for first, and kept. */
  private void register(
      JavalinConfig config, String path, String mediaType, Supplier<byte[]> content) {
    config.routes.get(
        path,
        context -> {
          context.header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
          context.header("X-Content-Type-Options", "nosniff");
          context
              .contentType(mediaType)
              .result(contents.computeIfAbsent(path, first -> content.get()));
        });
  }

  private byte[] description() {
    return api.json().getBytes(StandardCharsets.UTF_8);
  }

  private byte[] page() {
    return new String(own("page.html"), StandardCharsets.UTF_8)
        .replace("{title}", api.title())
        .getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] own(String name) {
    return read(ApiPages.class.getResourceAsStream(name), name);
  }

  /** Reads a file of the library, whose folder has the library's version in its name. */
  private static byte[] ofSwaggerUi(String name) {
    ClassLoader loader = ApiPages.class.getClassLoader();
    Properties library = new Properties();
    String about = "META-INF/maven/org.webjars/swagger-ui/pom.properties";
    try (InputStream file = Objects.requireNonNull(loader.getResourceAsStream(about), about)) {
      library.load(file);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(about, unreadable);
    }
    String path =
        "META-INF/resources/webjars/swagger-ui/" + library.getProperty("version") + "/" + name;
    return read(loader.getResourceAsStream(path), path);
  }

  private static byte[] read(@Nullable InputStream opened, String name) {
    try (InputStream file = Objects.requireNonNull(opened, name)) {
      return file.readAllBytes();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(name, unreadable);
    }
  }
}
