// SPDX-License-Identifier: Apache-2.0
package io.weir.access.openapi;

import io.javalin.config.JavalinConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * A handler that serves the description of an API and the page that shows the description in a
 * browser. Requests need no token because the pages contain only documentation. The handler loads
 * each file once, and writes all responses from the same memory. The handler never blocks the
 * thread that reads the connection. Thread-safe.
 */
public final class ApiPages extends Handler.Wrapper {
  private static final String DESCRIPTION = "/openapi.json";
  private static final String PAGE = "/docs";
  private static final String SCRIPT = "text/javascript; charset=utf-8";

  /**
   * The content security policy. The policy allows inline styles because the script of Swagger UI
   * sets styles. The policy allows data URLs because the style sheet of Swagger UI contains icons.
   */
  private static final String CONTENT_SECURITY_POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'"
          + " data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors"
          + " 'none'";

  private final Map<String, Page> pages = new LinkedHashMap<>();
  private final Map<String, ByteBuffer> contents = new ConcurrentHashMap<>();

  private record Page(String mediaType, Supplier<byte[]> read) {}

  /** Creates the handler. The handler must precede the handlers of the API's routes. */
  public ApiPages(ApiDescription api) {
    pages.put(
        DESCRIPTION,
        new Page("application/json", () -> api.json().getBytes(StandardCharsets.UTF_8)));
    pages.put(PAGE, new Page("text/html; charset=utf-8", () -> page(api.title())));
    pages.put(PAGE + "/start.js", new Page(SCRIPT, () -> own("start.js")));
    pages.put(
        PAGE + "/swagger-ui-bundle.js",
        new Page(SCRIPT, () -> ofSwaggerUi("swagger-ui-bundle.js")));
    pages.put(
        PAGE + "/swagger-ui.css",
        new Page("text/css; charset=utf-8", () -> ofSwaggerUi("swagger-ui.css")));
  }

  /** Returns whether a path is reserved for these pages, even if there is no page at the path. */
  public static boolean isOfPages(String path) {
    return path.equals(DESCRIPTION) || path.equals(PAGE) || path.startsWith(PAGE + "/");
  }

  /**
   * Registers the paths with the router. The router then responds to OPTIONS and to methods that
   * are not allowed.
   *
   * @param missing handler for a reserved path without a page
   */
  public void register(JavalinConfig config, io.javalin.http.Handler missing) {
    pages.keySet().forEach(path -> config.routes.get(path, missing));
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    String path = Request.getPathInContext(request);
    Page page = pages.get(path);
    boolean isRead =
        HttpMethod.GET.is(request.getMethod()) || HttpMethod.HEAD.is(request.getMethod());
    if (page == null || !isRead || request.getLength() > 0) {
      return super.handle(request, response, callback);
    }
    ByteBuffer content = contents.computeIfAbsent(path, first -> direct(page.read().get()));
    HttpFields.Mutable fields = response.getHeaders();
    fields.put(HttpHeader.CONTENT_TYPE, page.mediaType());
    fields.put(HttpHeader.CONTENT_LENGTH, content.remaining());
    fields.put(HttpHeader.CACHE_CONTROL, "no-store");
    fields.put("Content-Security-Policy", CONTENT_SECURITY_POLICY);
    fields.put("X-Content-Type-Options", "nosniff");
    response.write(true, content.asReadOnlyBuffer(), callback);
    return true;
  }

  /**
   * Copies the content to direct memory, from which the kernel reads. With heap memory, each
   * writing thread would keep a copy in direct memory.
   */
  private static ByteBuffer direct(byte[] content) {
    return ByteBuffer.allocateDirect(content.length).put(content).flip();
  }

  private static byte[] page(String title) {
    return new String(own("page.html"), StandardCharsets.UTF_8)
        .replace("{title}", title)
        .getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] own(String name) {
    return read(ApiPages.class.getResourceAsStream(name), name);
  }

  /**
   * Reads a file of Swagger UI. The name of the file's folder contains the version of the library.
   */
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
