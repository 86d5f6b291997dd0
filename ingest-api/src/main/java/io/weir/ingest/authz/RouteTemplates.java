// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.limits.Names;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The templates of an application's routes, which give calls the names of their endpoints: there
 * are no more names than templates and methods, whatever callers ask for. Immutable.
 *
 * <p>A template is a line {@code METHOD /path}, in which {@code {name}} stands for one segment,
 * {@code *} at the end for one segment or more, and {@code *} as the method for any. Empty lines
 * and those that begin with {@code #} are passed over. Segment by segment, a literal is preferred
 * to {@code {name}}, and that to {@code *}; then a method to any method. Paths are compared in
 * their {@link PathForm}, case and all.
 */
public final class RouteTemplates {
  /** Most templates; each takes some hundred bytes. */
  public static final int MAX_TEMPLATES = 10_000;

  /** What the endpoints of calls that no template fits are called, behind their method. */
  public static final String OTHER_PATHS = "other";

  /** What stands for methods that are neither usual nor named by a template. */
  static final String OTHER_METHODS = "OTHER";

  /** The methods of RFC 9110, and PATCH. */
  private static final List<String> USUAL_METHODS =
      List.of("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH");

  private static final String ANY = "*";
  private static final Pattern LINE = Pattern.compile("(\\S+)[ \\t]+(/\\S*)");
  private static final Pattern METHOD = Pattern.compile("[A-Z][A-Z0-9_-]{0,31}");
  private static final Pattern PARAMETER = Pattern.compile("\\{[A-Za-z_][A-Za-z0-9_.-]*}");
  private static final Pattern SPECIAL = Pattern.compile("[{}*;?#]");

  /** Without any template: every endpoint is called after its method alone. */
  public static final RouteTemplates NONE = RouteTemplates.parse("");

  private final Set<String> methods;
  private final int size;
  private final Node root;

  private RouteTemplates(Set<String> methods, int size, Node root) {
    this.methods = methods;
    this.size = size;
    this.root = root;
  }

  /** What may follow after some segments. */
  private static final class Node {
    private final Map<String, Node> literals = new HashMap<>();
    private @Nullable Node parameter;

    /** Names of the endpoints of paths that end here, by method. */
    private final Map<String, String> here = new HashMap<>();

    /** Names of the endpoints of paths that go on in any way, by method. */
    private final Map<String, String> beyond = new HashMap<>();
  }

  private record Template(int line, String method, String path, List<String> segments) {
    boolean hasRest() {
      return !segments.isEmpty() && segments.get(segments.size() - 1).equals(ANY);
    }
  }

  /** Signals that a line is no template; the message names the line and what is allowed. */
  public static final class InvalidTemplateException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    InvalidTemplateException(int line, String rule) {
      super("line " + line + ": " + rule);
    }
  }

  /**
   * Reads templates, one a line.
   *
   * @throws InvalidTemplateException if a line is none, or repeats another one
   */
  public static RouteTemplates parse(String text) {
    List<Template> templates = new ArrayList<>();
    int number = 0;
    for (String line : text.lines().map(String::strip).toList()) {
      number++;
      if (!line.isEmpty() && !line.startsWith("#")) {
        templates.add(template(number, line));
      }
      if (templates.size() > MAX_TEMPLATES) {
        throw new InvalidTemplateException(
            number, "there must be at most " + MAX_TEMPLATES + " templates");
      }
    }
    return of(templates);
  }

  private static RouteTemplates of(List<Template> templates) {
    Set<String> methods = new TreeSet<>(USUAL_METHODS);
    templates.stream()
        .map(Template::method)
        .filter(name -> !ANY.equals(name))
        .forEach(methods::add);
    Node root = new Node();
    Map<String, Integer> shapes = new HashMap<>();
    Map<Template, Map<String, String>> places = new LinkedHashMap<>();
    for (Template template : templates) {
      String shape = template.method + ' ' + shape(template.segments);
      Integer before = shapes.putIfAbsent(shape, template.line);
      if (before != null) {
        throw new InvalidTemplateException(
            template.line, "the paths are those of line " + before + "; give each template once");
      }
      places.put(template, place(root, template));
    }
    places.forEach((template, place) -> addNamed(template, place));
    // methods that are named come first, wherever they stand
    places.forEach((template, place) -> addAny(template, place, methods));
    return new RouteTemplates(methods, templates.size(), root);
  }

  private static Template template(int number, String line) {
    var parts = LINE.matcher(line);
    if (!parts.matches()) {
      throw new InvalidTemplateException(
          number, "must be METHOD /path, such as GET /v1/items/{id}, is '" + line + "'");
    }
    String method = parts.group(1);
    if (!METHOD.matcher(method).matches() && !ANY.equals(method)) {
      throw new InvalidTemplateException(
          number, "the method must be in upper case, or * for any, is '" + method + "'");
    }
    String path = parts.group(2);
    String violation = Names.violation(path);
    if (violation != null) {
      throw new InvalidTemplateException(number, "the path " + violation);
    }
    return new Template(number, method, path, segments(number, path));
  }

  private static List<String> segments(int number, String path) {
    List<String> raw = List.of(path.substring(1).split("/", -1));
    if (raw.equals(List.of(""))) {
      return List.of();
    }
    List<String> segments = new ArrayList<>();
    for (int i = 0; i < raw.size(); i++) {
      boolean isLast = i == raw.size() - 1;
      segments.add(segment(number, raw.get(i), isLast));
    }
    return segments;
  }

  private static String segment(int number, String raw, boolean isLast) {
    if (PARAMETER.matcher(raw).matches() || (isLast && raw.equals(ANY))) {
      return raw;
    }
    if (SPECIAL.matcher(raw).find()) {
      throw new InvalidTemplateException(
          number,
          "a segment must be literal, or {name}, or * if it is the last one, and must not hold"
              + " any of ; ? #, is '"
              + raw
              + "'");
    }
    List<String> form = PathForm.segments(bytes(raw));
    if (form.size() != 1) {
      throw new InvalidTemplateException(
          number, "no segment must be empty, '.' or '..', and the path not end with a slash");
    }
    return form.get(0);
  }

  /** Returns the bytes of a text in UTF-8, each as a character. */
  private static String bytes(String text) {
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
  }

  private static String shape(List<String> segments) {
    StringBuilder shape = new StringBuilder();
    for (String segment : segments) {
      shape.append('/').append(isParameter(segment) ? "{}" : segment);
    }
    return shape.toString();
  }

  private static boolean isParameter(String segment) {
    return segment.startsWith("{");
  }

  /** Returns where the names of a template's endpoints are kept. */
  private static Map<String, String> place(Node root, Template template) {
    Node node = root;
    int fixed = template.segments.size() - (template.hasRest() ? 1 : 0);
    for (String segment : template.segments.subList(0, fixed)) {
      if (!isParameter(segment)) {
        node = node.literals.computeIfAbsent(segment, each -> new Node());
      } else {
        if (node.parameter == null) {
          node.parameter = new Node();
        }
        node = node.parameter;
      }
    }
    return template.hasRest() ? node.beyond : node.here;
  }

  private static void addNamed(Template template, Map<String, String> place) {
    if (!ANY.equals(template.method)) {
      place.put(template.method, name(template, template.method));
    }
  }

  private static void addAny(Template template, Map<String, String> place, Set<String> methods) {
    if (ANY.equals(template.method)) {
      place.putIfAbsent(OTHER_METHODS, name(template, OTHER_METHODS));
      for (String method : methods) {
        place.putIfAbsent(method, name(template, method));
      }
    }
  }

  private static String name(Template template, String method) {
    String name = method + ' ' + template.path;
    String violation = Names.violation(name);
    if (violation != null) {
      throw new InvalidTemplateException(template.line, "the endpoint " + violation);
    }
    return name;
  }

  /** Returns how many templates there are. */
  public int size() {
    return size;
  }

  /**
   * Returns the name of a call's endpoint: the template it fits, with the call's method; otherwise
   * the method and {@value #OTHER_PATHS}.
   *
   * @param method as the caller wrote it; compared in upper case
   * @param target path and query as the caller wrote them, each character a byte
   */
  public String endpoint(String method, String target) {
    String upper = method.toUpperCase(Locale.ROOT);
    String known = methods.contains(upper) ? upper : OTHER_METHODS;
    String name = find(root, PathForm.segments(target), 0, known);
    return name == null ? known + ' ' + OTHER_PATHS : name;
  }

  /** Each node of the tree is visited once at most. */
  private static @Nullable String find(Node node, List<String> path, int next, String method) {
    if (next == path.size()) {
      return node.here.get(method);
    }
    Node literal = node.literals.get(path.get(next));
    String name = literal == null ? null : find(literal, path, next + 1, method);
    if (name == null && node.parameter != null) {
      name = find(node.parameter, path, next + 1, method);
    }
    return name == null ? node.beyond.get(method) : name;
  }

  /** Returns how many templates there are, in words. */
  @Override
  public String toString() {
    return size + " templates";
  }
}
