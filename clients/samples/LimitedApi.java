// SPDX-License-Identifier: Apache-2.0
import io.javalin.Javalin;
import io.javalin.http.Context;
import io.weir.client.Call;
import io.weir.client.Decision;
import io.weir.client.FailureMode;
import io.weir.client.WeirClient;
import java.net.URI;
import java.util.Map;

/**
 * An HTTP API with Javalin whose calls Weir limits and bills, in one file.
 *
 * <p>Callers send an API key of Weir in the header field {@code X-API-Key}.
 */
@SuppressWarnings("DefaultPackage") // a single file, to be copied
public final class LimitedApi {
  private LimitedApi() {}

  /** Starts the API. Arguments: the port (0 for any free port), and the address of a node. */
  public static void main(String[] arguments) {
    int port = Integer.parseInt(arguments[0]);
    URI node = URI.create(arguments[1]);
    String token = System.getenv("WEIR_TOKEN"); // a node for local requests only may need no token
    WeirClient.Builder settings = WeirClient.builder(FailureMode.OPEN, node);
    WeirClient weir = token == null ? settings.build() : settings.token(token).build();
    Javalin api =
        Javalin.create(
            config -> {
              config.startup.showJavalinBanner = false;
              config.routes.beforeMatched(context -> limit(weir, context));
              config.routes.get("/items/{id}", context -> context.result("an item"));
              config.events.serverStopped(weir::close);
            });
    api.start("127.0.0.1", port);
    System.out.println("serving on port " + api.port());
  }

  /** Lets a call pass, or sends the response instead of the handler of its route. */
  private static void limit(WeirClient weir, Context context) {
    String key = context.header("X-API-Key");
    if (key == null) {
      refuse(context, 401, "an API key is needed");
      return;
    }
    String route = context.endpoints().matchedHttpEndpoint().path; // /items/{id} for /items/7
    Call call = Call.ofApiKey(key).withEndpoint(context.method() + " " + route);
    Decision decision = weir.check(call);
    if (decision instanceof Decision.Allowed allowed) {
      fields(context, allowed.verdict().fields());
    } else if (decision instanceof Decision.Denied denied) {
      fields(context, denied.verdict().fields());
      refuse(context, denied.status(), denied.detail());
    } else if (decision instanceof Decision.KeyRefused) {
      refuse(context, 401, "the API key is not accepted");
    } else if (!decision.isAllowed()) {
      refuse(context, 503, "the call could not be decided");
    }
  }

  private static void fields(Context context, Map<String, String> fields) {
    fields.forEach(context::header);
  }

  private static void refuse(Context context, int status, String text) {
    context.status(status).result(text).skipRemainingHandlers();
  }
}
