// SPDX-License-Identifier: Apache-2.0
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.sparkproject.jetty.server.Server;
import org.sparkproject.jetty.server.ServerConnector;
import org.sparkproject.jetty.servlet.ServletContextHandler;
import org.sparkproject.jetty.servlet.ServletHolder;

/**
 * Iceberg's own REST catalog (its test servlet and adapter) over a JDBC catalog, on a free port of the loopback or
 * the property "port". Prints the port; ends when its stdin ends. Run as a source file: java -cp ... RestServer.java sqlite-url warehouse
 * key=value..., with further properties of the JDBC catalog.
 */
public final class RestServer {
  public static void main(String[] arguments) throws Exception {
    // The log goes to the error stream: nobody reads the other one after the port, and a full pipe stops the server.
    PrintStream output = System.out;
    System.setOut(System.err);
    Map<String, String> properties = new HashMap<>();
    properties.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    properties.put("uri", arguments[0]);
    properties.put("warehouse", arguments[1]);
    properties.put("jdbc.schema-version", "V1");
    for (int i = 2; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      properties.put(pair[0], pair[1]);
    }
    int port = Integer.parseInt(properties.getOrDefault("port", "0"));
    Catalog backend = CatalogUtil.buildIcebergCatalog("backend", properties, new Configuration());
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(backend))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", port));
    server.setHandler(context);
    server.start();
    output.println(((ServerConnector) server.getConnectors()[0]).getLocalPort());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
